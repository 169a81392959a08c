"""Many steps at once: privacy-loss laws on a grid, composed as polynomials of non-negative balls."""
