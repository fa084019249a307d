package health

import (
	"fmt"
	"time"
)

// How long results count. A check takes checkTime at most.
const (
	freshTime = 10 * time.Second // then it is repeated
	validTime = time.Minute      // then it proves nothing
	checkTime = 5 * time.Second
)

// Result is the outcome of the checks of one guest. The zero value is none.
type Result struct {
	Began   time.Time
	Problem string // why the guest is not ready; "" if it is
	Refused bool   // the problem is that the config of the host does not allow the check
}

// NotReady returns why the guest is not ready at a time, "" if it is.
func (r Result) NotReady(now time.Time) string {
	switch age := now.Sub(r.Began); {
	case r.Began.IsZero():
		return "its checks have not run yet"
	case age > validTime:
		return fmt.Sprintf("its last check was %s ago", age.Truncate(time.Second))
	}
	return r.Problem
}

// due reports whether the checks run again.
func (r Result) due(now time.Time) bool { return now.Sub(r.Began) >= freshTime }
