"""Phase 5, solving: the native engine and the strategy around it, Z3, and brute force for tiny traces."""
