module example.org/recorders

go 1.18
