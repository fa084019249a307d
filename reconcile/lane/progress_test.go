package lane

import "testing"

func TestPercentIn(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]int{
		"": 0,
		"downloading https://images.example/a.qcow2 to /var/lib/vz/import/a.qcow2\n--2026-11-25 08:00:00--  https://images.example/a.qcow2":    0,
		"     0K ........ ........ ........ ........ 12% 100M 2s\n 32768K ........ ........ ........ ........ 25% 98.1M 2s":                    25,
		" 32768K ........ ....                    100% 100M 0s\n2026-11-25 08:00:00 (100 MB/s) - 'a.tmp' saved [1/1]\ncalculating checksum...": 100,
		"     0K ,,,,,,,, ........  999% 1M": 100,
		"the 50% of it":                      0,
	} {
		if got := percentIn(log); got != want {
			t.Errorf("%q: got %d, want %d", log, got, want)
		}
	}
}
