package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gitops-agent/reconcile/manifest/tree"
)

// numbered is a text into which the numbers of a GuestSet are put.
var numbered = &textRule{
	want: "a text with a number", examples: []string{"web-${n}", "web-${n:02}", "${n+200}"},
	shape: exactly(`.*` + numberHole + `.*`), hintFor: numberHint,
	accept: func(s string) bool { return !strings.Contains(numberHoles().ReplaceAllString(s, ""), "${") },
}

// numberHole is where a number is put: a constant to add or subtract, and the least number of digits.
const numberHole = `\$\{n(?:[+-][0-9]{1,9})?(?::0[1-9])?\}`

var (
	numberHoles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{n([+-][0-9]{1,9})?(?::0([1-9]))?\}`) })
	anyHole     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{n(?:[^a-zA-Z][^}]*)?\}`) })
)

// numberHint returns a hint for a text without a number that is understood.
func numberHint(text string) string {
	if strings.Contains(text, "${") {
		return "only ${n}, ${n+1}, ${n-1} and, with at least two digits, ${n:02} are understood"
	}
	return "add ${n}: without it, all members would have the same"
}

// numberedRows returns a row for each number. It reports a number below 0.
func numberedRows(d decoder, each *tree.Node, from, to int) ([]*tree.Node, bool) {
	rows := make([]*tree.Node, 0, to-from+1)
	for n := from; n <= to; n++ {
		row, wrong := putNumber(each, n)
		if wrong != nil {
			d.problem(wrong.At, fmt.Sprintf("got %s, which is below 0 for n = %d", wrong.Describe(), n), "")
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, true
}

// putNumber returns a row with a number in its texts. It returns the text for which a number would be below 0, or nil.
func putNumber(row *tree.Node, n int) (out, wrong *tree.Node) {
	copied := *row
	copied.Entries, copied.Items = make([]tree.Entry, 0, len(row.Entries)), make([]*tree.Node, 0, len(row.Items))
	for _, e := range row.Entries {
		value, below := putNumber(e.Value, n)
		if below != nil {
			return nil, below
		}
		if e.Name == "vmid" && value.Kind == tree.Scalar {
			value.Tag = tagOfNumber(value.Text)
		}
		copied.Entries = append(copied.Entries, tree.Entry{Name: e.Name, Value: value})
	}
	for _, item := range row.Items {
		value, below := putNumber(item, n)
		if below != nil {
			return nil, below
		}
		copied.Items = append(copied.Items, value)
	}
	copied.Text = numberHoles().ReplaceAllStringFunc(row.Text, func(hole string) string {
		parts := numberHoles().FindStringSubmatch(hole)
		add, _ := strconv.Atoi(parts[1])   // at most nine digits; no constant is 0
		width, _ := strconv.Atoi(parts[2]) // one digit; none is 0
		if n+add < 0 {
			wrong = row
		}
		return fmt.Sprintf("%0*d", width, n+add)
	})
	return &copied, wrong
}

// tagOfNumber returns the tag that YAML gives to a text: a vmid is a number.
func tagOfNumber(text string) string {
	if number, err := strconv.Atoi(text); err == nil && strconv.Itoa(number) == text {
		return "!!int"
	}
	return "!!str"
}

// checkUnnumbered reports texts that contain a number where none is put in.
func checkUnnumbered(d decoder, n *tree.Node) {
	for _, e := range n.Entries {
		checkUnnumbered(d.below(segment(e.Name)), e.Value)
	}
	for i, item := range n.Items {
		below := d
		below.path = fmt.Sprintf("%s[%d]", d.path, i)
		checkUnnumbered(below, item)
	}
	if n.Kind == tree.Scalar && anyHole().MatchString(n.Text) {
		d.problem(n.At, "got "+n.Describe()+", but no number is put in here", "numbers are for name, vmid and addresses below each, in a set with a range")
	}
}
