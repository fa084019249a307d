package agent

import (
	"testing"
	"time"
)

func TestStaleAfter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ tick, resync, want time.Duration }{
		"defaults":    {0, 0, 6 * time.Minute},
		"quick":       {time.Second, 2 * time.Second, 4*time.Minute + 4*time.Second},
		"slow_tick":   {10 * time.Minute, time.Minute, 22 * time.Minute},
		"slow_resync": {15 * time.Second, time.Hour, 2*time.Hour + 4*time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Proxmox: ProxmoxConfig{Tick: Duration(test.tick), Resync: Duration(test.resync)}}
			if got := c.staleAfter(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
