package notify

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"time"

	"gitops-agent/internal/durable"
)

// maxMemory bounds the file of problems, in bytes.
const maxMemory = 16 << 20

// remembered is a problem in the file: an event, and the receivers that were told of it.
type remembered struct {
	Event
	Sent map[string]time.Time
}

// load takes the problems that were told before a start of the agent. Without a file that can be read there are none: they are sent once more.
func (d *dispatcher) load() {
	if d.opts.File == "" {
		return
	}
	info, err := os.Stat(d.opts.File)
	var content []byte
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && info.Size() > maxMemory:
		err = errors.New("it is too large")
	case err == nil:
		content, err = os.ReadFile(d.opts.File)
	}
	var list []remembered
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	if err != nil {
		d.opts.Logger.Warn("notifications of before the start not known", "file", d.opts.File, "error", err)
		return
	}
	for _, r := range list {
		if row, isKnown := lastingRow(r.Name); isKnown && len(r.Sent) > 0 {
			d.problems[problemKey(row, r.Event)] = &problem{event: r.Event, text: Text(r.Event), sent: r.Sent, isOld: true}
		}
	}
}

// save writes the problems that receivers were told of, if they differ from those in the file.
func (d *dispatcher) save() {
	if d.opts.File == "" || !d.changed {
		return
	}
	d.changed = false
	var list []remembered
	for _, p := range d.problems {
		if len(p.sent) > 0 {
			list = append(list, remembered{p.event, maps.Clone(p.sent)})
		}
	}
	content, err := json.Marshal(list)
	if err == nil {
		err = durable.Write(d.opts.File, content, 0o600)
	}
	if err != nil && !d.saveFails {
		d.opts.Logger.Warn("notifications not remembered, so their ends are not sent after a restart", "file", d.opts.File, "error", err)
	}
	d.saveFails = err != nil
}
