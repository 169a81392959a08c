"""The privacy loss of T steps on a lattice, in balls: certified upper and lower bounds on the true ε."""
