// Package racecheck tells a test whether the race detector is on.
//
// .ci/run runs the packages with goroutines twice, and the race detector makes the second run about three times as expensive. What random histories show by
// their outcome, the first run shows in full. The second looks for data races, and needs fewer histories.
package racecheck

// Rounds returns how many of n rounds of one test run: all, and half of them, rounded up, under the race detector.
func Rounds(n int) int {
	if enabled {
		return (n + 1) / 2
	}
	return n
}

// Step returns the distance of the cases that run in a long row of similar ones: 1, and 4 under the race detector.
func Step() int {
	if enabled {
		return 4
	}
	return 1
}
