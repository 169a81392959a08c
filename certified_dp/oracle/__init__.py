"""An oracle for other accountants: verdicts, test vectors, a pytest plugin and hypothesis strategies."""
