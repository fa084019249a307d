package journalview

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// summaryDocument is the JSON result of Verify.
type summaryDocument struct {
	SchemaVersion int       `json:"schemaVersion"`
	Whole         bool      `json:"whole"`
	Lineage       string    `json:"lineage"`
	Since         time.Time `json:"since"`
	Files         int       `json:"files"`
	Records       int       `json:"records"`
	Sequence      uint64    `json:"sequence"`
	Head          string    `json:"head"`
	Bytes         int64     `json:"bytes"`
	TornBytes     int64     `json:"tornBytes"`
}

// Verify checks the whole journal and prints a summary with its head. If the journal is damaged, the summary is that of the readable part, and
// Verify returns an error.
func Verify(out io.Writer, source Source, asJSON bool) error {
	s, err := source.Read(func(journal.Record) error { return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, journal.ErrUnreachable):
	case asJSON:
		document := summaryDocument{term.SchemaVersion, err == nil, s.Lineage, s.Since, s.Files, s.Records, s.Seq, s.Head, s.Bytes, s.TornBytes}
		err = cmp.Or(term.WriteJSON(out, document), err)
	default:
		writeSummary(out, s, err == nil)
	}
	return withSourceHint(source, err)
}

func writeSummary(out io.Writer, s journal.Summary, whole bool) {
	state := "damaged; readable part:"
	if whole {
		state = "whole"
	}
	_, _ = fmt.Fprintf(out, "journal: %s\n", state)
	t := term.Table{Indent: "  "}
	t.AddText("records", fmt.Sprintf("%d of %d", s.Records, s.Seq))
	t.AddText("files", fmt.Sprintf("%d, %d bytes", s.Files, s.Bytes))
	t.AddText("lineage", s.Lineage+", since "+s.Since.UTC().Format(time.RFC3339))
	t.AddText("head", s.Head)
	if s.TornBytes > 0 {
		t.AddText("unfinished", fmt.Sprintf("%d bytes of a commit that is being written, or that a crash cut", s.TornBytes))
	}
	t.Write(out, term.Palette{})
}
