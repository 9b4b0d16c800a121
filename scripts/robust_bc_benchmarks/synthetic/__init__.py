"""The paper's synthetic functions, and the correlations of their outliers."""
