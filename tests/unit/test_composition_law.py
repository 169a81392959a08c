"""Lattice laws and their composition: every move is on its own side, and its bookkeeping is needed."""

from fractions import Fraction

import pytest
from flint import arb, arb_poly
from hypothesis import given
from hypothesis import strategies as st

from certified_dp.composition.compose import (
    Repetition,
    check_memory,
    coarsen_down,
    coarsen_up,
    compose,
    product,
    trim,
)
from certified_dp.composition.law import (
    LatticeLaw,
    hockey_stick,
    hockey_stick_upper,
    kl_hinge,
    kl_hinge_upper,
    unit_law,
)
from certified_dp.enclosure import ball, lower_end, upper_end, working_precision
from certified_dp.errors import ResourceLimitError

PREC = 128
MASSES = st.lists(st.integers(0, 20), min_size=1, max_size=9).filter(any)
TILTS = st.sampled_from([Fraction(9, 8), Fraction(3, 2), Fraction(2)])
STEPS = st.sampled_from([Fraction(1, 8), Fraction(1, 3), Fraction(1)])
OFFSETS = st.fractions(-3, 3, max_denominator=8)
THRESHOLDS = [Fraction(k, 7) for k in range(-40, 41)]


def law_of(masses: list[int], offset: Fraction, step: Fraction, tilt: Fraction) -> LatticeLaw:
    """Build a law from Q-masses in hundredths."""
    weights = [ball(Fraction(m, 100)) * ball(tilt * (offset + i * step)).exp() for i, m in enumerate(masses)]
    return LatticeLaw(arb_poly(weights), offset, step, tilt, arb(0))


LAWS = st.builds(law_of, MASSES, OFFSETS, st.just(Fraction(1, 4)), st.just(Fraction(3, 2)))


@given(MASSES, OFFSETS, STEPS, TILTS, st.fractions(-4, 8, max_denominator=16))
def test_expectations_are_the_sums(
    masses: list[int], offset: Fraction, step: Fraction, tilt: Fraction, threshold: Fraction
) -> None:
    """Polynomial evaluation and the plain sums Σ Q(t−K)_+, Σ Q f_γ(t) overlap."""
    with working_precision(PREC):
        law = law_of(masses, offset, step, tilt)
        stick, hinge = arb(0), arb(0)
        for i, mass in enumerate(masses):
            loss = offset + i * step
            if loss > threshold:
                q, t, gamma = ball(Fraction(mass, 100)), ball(loss).exp(), ball(threshold).exp()
                stick += q * (t - gamma)
                hinge += q * (t * ball(loss - threshold) - t + gamma)
        assert hockey_stick(law, threshold).overlaps(stick)
        assert kl_hinge(law, threshold).overlaps(hinge)


@given(MASSES, MASSES, OFFSETS, TILTS, st.sampled_from([1e-6, 0.05, 0.4]))
def test_what_truncation_drops_is_covered(
    left: list[int], right: list[int], offset: Fraction, tilt: Fraction, share: float
) -> None:
    """With `dropped`, a product of trimmed laws still bounds both expectations of the untrimmed product, at every λ."""
    with working_precision(PREC):
        a, b = law_of(left, offset, Fraction(1, 2), tilt), law_of(right, Fraction(0), Fraction(1, 2), tilt)
        whole = product(a, b)
        cut = trim(product(trim(a, share), trim(b, share)), share)
        missing = whole.theta_mass() - cut.theta_mass()
        assert lower_end(missing) <= upper_end(cut.dropped)
        for threshold in THRESHOLDS:
            assert lower_end(hockey_stick(whole, threshold)) <= upper_end(hockey_stick_upper(cut, threshold))
            assert lower_end(kl_hinge(whole, threshold)) <= upper_end(kl_hinge_upper(cut, threshold))


def test_without_the_dropped_mass_the_bound_would_fail() -> None:
    """The tests above have teeth: the kept masses alone are below the truth."""
    with working_precision(PREC):
        whole = law_of([40, 30, 20, 1], Fraction(0), Fraction(1, 2), Fraction(2))
        cut = trim(whole, 0.4)
        assert len(cut) < len(whole)
        assert upper_end(hockey_stick(cut, Fraction(1))) < lower_end(hockey_stick(whole, Fraction(1)))
        assert upper_end(kl_hinge(cut, Fraction(1))) < lower_end(kl_hinge(whole, Fraction(1)))


@given(st.fractions(Fraction(17, 16), 2, max_denominator=16), st.fractions(-5, 5), st.fractions(-5, 5))
def test_theta_mass_bounds_one_atom(tilt: Fraction, loss: Fraction, threshold: Fraction) -> None:
    """An atom that was dropped altogether is covered by its θ-mass alone, wherever atom and threshold are."""
    with working_precision(PREC):
        atom = LatticeLaw(arb_poly([1]), loss, Fraction(1), tilt, arb(0))
        nothing = LatticeLaw(arb_poly([0]), loss, Fraction(1), tilt, arb(1))
        assert lower_end(hockey_stick(atom, threshold)) <= upper_end(hockey_stick_upper(nothing, threshold))
        assert lower_end(kl_hinge(atom, threshold)) <= upper_end(kl_hinge_upper(nothing, threshold))


def test_theta_mass_bounds_are_attained() -> None:
    """The two constants cannot be smaller: at the worst atoms, bound and truth overlap to ten digits."""
    with working_precision(PREC):
        tilt = Fraction(3, 2)
        for worst, exact, upper in (
            (ball(tilt / (tilt - 1)).log(), hockey_stick, hockey_stick_upper),
            (1 / ball(tilt - 1), None, kl_hinge_upper),
        ):
            loss = lower_end(worst)
            atom = LatticeLaw(arb_poly([1]), loss, Fraction(1), tilt, arb(0))
            nothing = LatticeLaw(arb_poly([0]), loss, Fraction(1), tilt, arb(1))
            bound = upper_end(upper(nothing, Fraction(0)))
            if exact is not None:
                truth = lower_end(exact(atom, Fraction(0)))
            else:  # t·log t, which dominates f_γ
                truth = lower_end(ball(loss) * ball((1 - tilt) * loss).exp())
            assert truth <= bound <= truth * (1 + Fraction(1, 10**10))


@given(LAWS)
def test_coarsening_up_only_raises(law: LatticeLaw) -> None:
    """Mass and mean stay, and both expectations rise at every threshold; so does any convex function's."""
    with working_precision(PREC):
        coarse = coarsen_up(law)
        assert coarse.step == 2 * law.step
        for threshold in THRESHOLDS:
            assert upper_end(hockey_stick(coarse, threshold)) >= lower_end(hockey_stick(law, threshold))
            assert upper_end(kl_hinge(coarse, threshold)) >= lower_end(kl_hinge(law, threshold))
        low = Fraction(-100)
        for moment in (hockey_stick, kl_hinge):  # below all atoms: functions of mass, mean (and E t·log t)
            assert moment is kl_hinge or moment(coarse, low).overlaps(moment(law, low))


def test_moving_atoms_to_the_nearest_point_would_be_seen() -> None:
    """The test above has teeth: moving an odd atom down, or keeping the mean of the loss, lowers the hockey-stick."""
    with working_precision(PREC):
        law = law_of([0, 10, 0], Fraction(0), Fraction(1), Fraction(2))
        down = law_of([10, 0], Fraction(0), Fraction(2), Fraction(2))
        halves = law_of([5, 5], Fraction(0), Fraction(2), Fraction(2))
        assert upper_end(hockey_stick(down, Fraction(0))) < lower_end(hockey_stick(law, Fraction(0)))
        assert lower_end(hockey_stick(halves, Fraction(-9))) > upper_end(hockey_stick(coarsen_up(law), Fraction(-9)))


@given(LAWS)
def test_coarsening_down_only_lowers(law: LatticeLaw) -> None:
    """The hull stays below the law's own stop-loss curve, inside cells too."""
    with working_precision(PREC):
        coarse = coarsen_down(law)
        assert coarse.step == 2 * law.step
        for threshold in THRESHOLDS:
            assert lower_end(hockey_stick(coarse, threshold)) <= upper_end(hockey_stick(law, threshold))


def test_coarsening_keeps_the_unit_law() -> None:
    """The composition of no steps is on every lattice."""
    with working_precision(PREC):
        for coarsen in (coarsen_up, coarsen_down):
            law = coarsen(unit_law(Fraction(1, 7), Fraction(2)))
            assert law.step == Fraction(2, 7)
            assert hockey_stick(law, Fraction(-1)).overlaps(1 - arb(-1).exp())


@given(LAWS, st.integers(1, 5), st.fractions(-1, 1, max_denominator=9))
def test_coarsening_to_any_lattice(law: LatticeLaw, factor: int, reference: Fraction) -> None:
    """By any factor and to any reference point, each side stays on its side."""
    with working_precision(PREC):
        above, below = coarsen_up(law, factor, reference), coarsen_down(law, factor, reference)
        for coarse in (above, below):
            assert coarse.step == factor * law.step
            assert ((coarse.offset - reference) / coarse.step).denominator == 1
        for threshold in THRESHOLDS:
            truth = hockey_stick(law, threshold)
            assert upper_end(hockey_stick(above, threshold)) >= lower_end(truth)
            assert lower_end(hockey_stick(below, threshold)) <= upper_end(truth)
            assert upper_end(kl_hinge(above, threshold)) >= lower_end(kl_hinge(law, threshold))


@given(LAWS)
def test_coarsening_by_one_on_the_own_lattice_changes_nothing(law: LatticeLaw) -> None:
    """A spread to the lattice on which the law already is leaves every expectation as it was."""
    with working_precision(PREC):
        same = coarsen_up(law, 1, law.offset + 5 * law.step)
        for threshold in THRESHOLDS[::5]:
            assert hockey_stick(same, threshold).overlaps(hockey_stick(law, threshold))


@pytest.mark.parametrize(("factor", "shift"), [(1, 0), (1, 3), (2, 0), (2, 3), (3, 1)])
def test_coarsening_down_keeps_the_mean_and_most_of_the_curve(factor: int, shift: int) -> None:
    """Not a bound but its worth: on a smooth law the hull loses under 2% of the hockey-stick, on any lattice."""
    with working_precision(PREC):
        masses = [round(10000 * float((-arb((i - 40) ** 2) / 50).exp())) for i in range(81)]
        law = law_of(masses, Fraction(-2), Fraction(1, 20), Fraction(2))
        coarse = coarsen_down(law, factor, law.offset + law.step * shift / 7)
        for threshold in (Fraction(-5), Fraction(0)):
            assert lower_end(hockey_stick(coarse, threshold)) >= upper_end(hockey_stick(law, threshold)) * Fraction(
                98, 100
            )


@given(MASSES, st.integers(1, 12), st.integers(0, 12), st.booleans())
def test_composition_does_not_depend_on_the_splitting(masses: list[int], first: int, second: int, up: bool) -> None:
    """Repeated squaring, split in any way, gives overlapping expectations to those of plain repeated products."""
    with working_precision(PREC):
        law = law_of(masses, Fraction(-1, 4), Fraction(1, 4), Fraction(2))
        plain = unit_law(law.step, law.tilt)
        for _ in range(first + second):
            plain = product(plain, law)
        parts = [(law, Repetition(count, 0.25, 0.1)) for count in (first, second) if count]
        both = compose(
            parts,
            coarsen=coarsen_up if up else coarsen_down,
            drop=0.0,
            coarsen_budget=0.0,
            memory_limit=1 << 30,
        )
        for threshold in THRESHOLDS[::8]:
            assert hockey_stick(both, threshold).overlaps(hockey_stick(plain, threshold))


@given(st.integers(2, 40), st.sampled_from([1e-9, 1e-3]), st.floats(1e-6, 10.0))
def test_upper_composition_stays_above_and_lower_below(count: int, drop: float, budget: float) -> None:
    """Truncation and forced coarsening (laws of any length) keep each side on its side of the plain product."""
    with pytest.MonkeyPatch.context() as patch, working_precision(PREC):
        patch.setattr("certified_dp.composition.compose.COARSEN_ABOVE", 4)
        law = law_of([10, 50, 25, 10, 4, 1], Fraction(-1, 4), Fraction(1, 4), Fraction(2))
        plain = unit_law(law.step, law.tilt)
        for _ in range(count):
            plain = product(plain, law)
        part = [(law, Repetition(count, 0.25, 1.0))]
        above, below = (
            compose(part, coarsen=coarsen, drop=drop, coarsen_budget=budget, memory_limit=1 << 30)
            for coarsen in (coarsen_up, coarsen_down)
        )
        for threshold in THRESHOLDS[::4]:
            truth = hockey_stick(plain, threshold)
            assert upper_end(hockey_stick_upper(above, threshold)) >= lower_end(truth)
            assert lower_end(hockey_stick(below, threshold)) <= upper_end(truth)
            assert upper_end(kl_hinge_upper(above, threshold)) >= lower_end(kl_hinge(plain, threshold))


def test_memory_is_refused_with_the_sizes() -> None:
    """A lattice that does not fit is refused, and the message says how many points it has."""
    with pytest.raises(ResourceLimitError, match="1000000 points"):
        check_memory(1_000_000, 1 << 20)
