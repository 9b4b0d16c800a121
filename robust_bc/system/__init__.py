"""What every part needs of the machine: files, interrupts, devices, seeds, and text that a terminal can show."""
