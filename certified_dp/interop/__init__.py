"""Adapters: the certified accountant behind other libraries' interfaces. Each module imports its library alone."""
