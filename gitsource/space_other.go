//go:build !linux

package gitsource

import "math"

// freeSpace returns no bound: the agent runs on Linux, and elsewhere only commands do, which have no journal.
func freeSpace(string) (free, size int64, err error) { return math.MaxInt64, 0, nil }
