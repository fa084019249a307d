package manifest

import "gitops-agent/reconcile/schedule"

// window is a weekly period for restarts, see schedule.Window.
func window(into *opt[string]) value {
	return scalarValue[string]{into, parsedText{
		want:     "days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin",
		check:    func(text string) error { _, err := schedule.ParseWindow(text); return err },
		pattern:  schedule.WindowPattern,
		examples: []string{"Sat 02:00-04:00 Europe/Berlin", "Mon-Fri,Sun 22:00-02:00 UTC"},
	}}
}
