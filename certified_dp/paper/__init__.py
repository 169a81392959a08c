"""Sweeps over many settings, and with them the paper's tables and figures in certified numbers."""
