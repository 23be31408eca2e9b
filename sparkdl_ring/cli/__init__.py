"""The console command ``sparkdl-ring``."""
