package guest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rollout is how a change reaches the guests that share a name: a few at a time. The zero value is no rollout: a change reaches all guests at once.
type Rollout struct {
	Name           string        `json:"name"`
	Canary         int           `json:"canary"`                 // guests of the first batch
	CanaryGuests   string        `json:"canaryGuests,omitempty"` // patterns of labels that are the first batch, sorted, with spaces between them; "" leaves the choice to Canary
	MaxUnavailable Share         `json:"maxUnavailable"`         // of all guests of the rollout: how many may be changed, or be unavailable, at the same time
	MaxPerNode     Share         `json:"maxPerNode,omitzero"`    // the same of the guests on one node; the zero value sets no limit
	Pause          time.Duration `json:"pause,omitempty"`        // between two batches
	Approval       bool          `json:"approval,omitempty"`     // a signed order continues after each batch; Pause is 0 then
	Live           bool          `json:"live,omitempty"`         // changes that interrupt nothing are held too
	FailAfter      time.Duration `json:"failAfter"`              // how long a guest, or the query, may be in trouble before the batch has failed
	Prometheus     string        `json:"prometheus,omitempty"`   // "http://10.0.0.9:9090"; "" asks none
	Query          string        `json:"query,omitempty"`        // every value of its result must not be 0 after each batch
}

// Share is a number of guests, or a percentage of them. The zero Share is not set.
type Share struct {
	Value   int  `json:"value"`
	Percent bool `json:"percent,omitempty"`
}

// ParseShare reads "3" or "10%".
func ParseShare(text string) (Share, bool) {
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.Atoi(number)
	if err != nil || value < 1 || percent && value > 100 || strconv.Itoa(value) != number {
		return Share{}, false
	}
	return Share{value, percent}, true
}

func (s Share) String() string {
	switch {
	case s == Share{}:
		return "none"
	case s.Percent:
		return strconv.Itoa(s.Value) + "%"
	}
	return strconv.Itoa(s.Value)
}

// Of returns the number of guests that the share is of a total, rounded down, and at least 1.
func (s Share) Of(total int) int {
	if s.Percent {
		return max(total*s.Value/100, 1)
	}
	return max(s.Value, 1)
}

// isMoreThan reports whether a share allows more than another one. A number and a percentage cannot be compared, and count as more.
func (s Share) isMoreThan(other Share) bool {
	switch {
	case s == other:
		return false
	case other == Share{}:
		return false // it sets no limit
	case s == Share{}, s.Percent != other.Percent:
		return true
	}
	return s.Value > other.Value
}

// Encode returns the settings as the journal contains them, "" for no rollout.
func (r Rollout) Encode() string {
	if r == (Rollout{}) {
		return ""
	}
	text, _ := json.Marshal(r) // marshalling strings and numbers cannot fail
	return string(text)
}

// DecodeRollout reads what Encode returned. A text that cannot be read is no rollout: false.
func DecodeRollout(text string) (Rollout, bool) {
	var r Rollout
	if text == "" || json.Unmarshal([]byte(text), &r) != nil || r.Name == "" {
		return Rollout{}, false
	}
	return r, true
}

// String returns the settings for people and for digests: two rollouts with the same text are equal.
func (r Rollout) String() string {
	if r == (Rollout{}) {
		return "none"
	}
	words := []string{r.Name, "canary=" + cmp.Or(r.CanaryGuests, strconv.Itoa(r.Canary)), "maxUnavailable=" + r.MaxUnavailable.String()}
	if r.MaxPerNode != (Share{}) {
		words = append(words, "maxUnavailablePerNode="+r.MaxPerNode.String())
	}
	if r.Approval {
		words = append(words, "pause=approval")
	} else {
		words = append(words, "pause="+r.Pause.String())
	}
	words = append(words, "failAfter="+r.FailAfter.String())
	if r.Live {
		words = append(words, "live=true")
	}
	if r.Query != "" {
		words = append(words, fmt.Sprintf("prometheus=%s query=%q", r.Prometheus, r.Query))
	}
	return strings.Join(words, " ")
}

// IsWeakerThan reports whether a rollout lets a change reach its guests faster, or with fewer checks, than another one. Settings that cannot be compared
// count as weaker, and so does another name, which would count other guests.
func (r Rollout) IsWeakerThan(other Rollout) bool {
	if other == (Rollout{}) || r == other {
		return false
	}
	pause := r.Pause < other.Pause && !r.Approval || other.Approval && !r.Approval
	check := other.Query != "" && (r.Query != other.Query || r.Prometheus != other.Prometheus)
	return r.Name != other.Name || r.CanaryGuests != other.CanaryGuests || r.Canary > other.Canary && r.CanaryGuests == "" ||
		r.MaxUnavailable.isMoreThan(other.MaxUnavailable) || r.MaxPerNode.isMoreThan(other.MaxPerNode) ||
		pause || other.Live && !r.Live || r.FailAfter > other.FailAfter || check
}

// Stricter returns the stricter settings of two rollouts with one name: guests of one rollout can differ while a weaker setting of some is not approved.
func (r Rollout) Stricter(other Rollout) Rollout {
	if r == other {
		return r
	}
	if r.CanaryGuests == "" {
		r.CanaryGuests = other.CanaryGuests
	}
	r.Canary = min(r.Canary, other.Canary)
	if r.MaxUnavailable.isMoreThan(other.MaxUnavailable) {
		r.MaxUnavailable = other.MaxUnavailable
	}
	if r.MaxPerNode.isMoreThan(other.MaxPerNode) {
		r.MaxPerNode = other.MaxPerNode
	}
	r.Pause, r.Approval, r.Live = max(r.Pause, other.Pause), r.Approval || other.Approval, r.Live || other.Live
	r.FailAfter = min(r.FailAfter, other.FailAfter)
	if r.Query == "" {
		r.Prometheus, r.Query = other.Prometheus, other.Query
	}
	return r
}
