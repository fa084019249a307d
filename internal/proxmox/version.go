package proxmox

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of Proxmox VE.
type Version struct{ Major, Minor, Patch int }

// String returns "9.2.11".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// parseVersion reads "9.2.11", "8.4" and "9.0.0~beta1".
func parseVersion(text string) (Version, error) {
	released := text
	if at := strings.IndexAny(text, "~-+"); at >= 0 {
		released = text[:at]
	}
	parts := strings.Split(released, ".")
	if len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is not a release", text)
	}
	numbers := make([]int, 3)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a release", text)
		}
		numbers[i] = int(n)
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}, nil
}
