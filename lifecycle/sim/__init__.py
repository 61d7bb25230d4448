"""The simulated NVML library and the fleet generator behind `make demo` and the tests."""
