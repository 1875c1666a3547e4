"""What is measured: loops of our own, the vendor benchmark, any external command."""
