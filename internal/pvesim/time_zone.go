package pvesim

import (
	"fmt"
	"time"
	_ "time/tzdata" // the zones do not depend on the host
)

// geographicZone matches the zones in zone.tab, each of which lies on a continent or in an ocean. Names such as Etc/UTC and CET are not in it.
var geographicZone = newPattern(`^(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)/.`)

// checkTimeZone accepts the time zone of a container: that of the host, UTC, or a zone of zone.tab.
//
// Source: PVE::JSONSchema pve_verify_timezone.
func checkTimeZone(s string) error {
	if s == "host" || s == "UTC" {
		return nil
	}
	if geographicZone.MatchString(s) {
		if _, err := time.LoadLocation(s); err == nil {
			return nil
		}
	}
	return fmt.Errorf("invalid time zone '%s'", s)
}
