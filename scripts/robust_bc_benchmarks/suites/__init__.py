"""What is measured: walkers and cars, functions, random teachers, house prices."""
