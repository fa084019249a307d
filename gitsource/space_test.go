package gitsource

import "testing"

func TestSpaceFor(t *testing.T) {
	t.Parallel()
	const mib, gib = 1 << 20, 1 << 30
	for name, test := range map[string]struct{ free, size, want int64 }{
		"large_disk":      {100 * gib, 200 * gib, 99 * gib},
		"small_disk":      {1500 * mib, 2000 * mib, 1300 * mib},
		"at_the_reserve":  {gib, 200 * gib, 60 * mib},
		"nearly_full":     {80 * mib, 200 * gib, mib},
		"full":            {10 * mib, 200 * gib, 1},
		"no_space_at_all": {0, 200 * gib, 1},
	} {
		if got := spaceFor(test.free, test.size); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

// A stranger who pushes again and again does not fill the disk.
func TestFetchesNeverFillTheDisk(t *testing.T) {
	t.Parallel()
	free := int64(4 << 30)
	for range 10_000 {
		if n := spaceFor(free, 8<<30); n > 1 {
			free -= n
		}
	}
	if free < untouched {
		t.Errorf("got %d free bytes, want at least %d", free, untouched)
	}
}
