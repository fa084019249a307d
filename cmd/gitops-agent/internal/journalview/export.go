package journalview

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"

	"gitops-agent/reconcile/journal"
)

// Export prints the records after a number as JSON, one line each, oldest first. It keeps no records, so the memory that it needs does not grow with the
// journal. If the journal is damaged, it prints the readable records and returns an error.
func Export(out io.Writer, source Source, after uint64) error {
	buffered := bufio.NewWriterSize(out, 64<<10)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	_, err := source.Read(func(r journal.Record) error {
		if r.Seq <= after {
			return nil
		}
		return lines.Encode(r)
	})
	flushed := buffered.Flush()
	return withSourceHint(source, cmp.Or(err, flushed))
}
