"""Machine checks of every claim that the certified numbers rest on: run ``python -m proofs_checks``.

Each topic module states claims of the paper, or of `domination_theorem.md`, as functions under
`proofs_checks.registry.claim`. A claim passes when its function returns. What a pass is worth is its status word:

* ``proved``: sympy reduced a difference to the literal 0 for symbolic parameters;
* ``certified``: balls settled it entirely: at every point of the boxes that the claim names, or, for a claim that
  something exists, by an exact example;
* ``spot-checked``: balls settled it at finitely many seeded exact points.
"""
