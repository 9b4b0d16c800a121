"""Boston house prices, some of them wrong."""
