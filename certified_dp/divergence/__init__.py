"""One step of DP-SGD: the order-α Rényi divergence, by the paper's theorem and by the single pair."""
