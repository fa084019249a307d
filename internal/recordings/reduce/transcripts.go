package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/recordings"
)

// transcript is a file of recorded exchanges.
type transcript struct {
	Entries []entry
}

type entry struct {
	Note    string
	AtMS    int `json:"at_ms"`
	Via     string
	Request struct {
		Method, URL, Token string
		Headers            map[string]string
		RawBody            *string `json:"raw_body"`
	}
	Response struct {
		Status       int
		Reason, Body string
		ElapsedMS    int `json:"elapsed_ms"`
	}
}

// transcripts reduces the files that match the patterns, in the order of their names. Each pattern matches a file.
func transcripts(patterns ...string) ([]byte, error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("got no file %s", pattern)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	var lines []recordings.Line
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // the path is the caller's own
		if err != nil {
			return nil, err
		}
		var t transcript
		if err := json.Unmarshal(text, &t); err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		for _, e := range t.Entries {
			exchange, err := reduced(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			lines = append(lines, recordings.Line{File: name, Exchange: exchange})
			name = ""
		}
	}
	return jsonLines(lines)
}

// The facts in the recorder's notes. Everything else in a note is prose.
var (
	taskEnded = regexp.MustCompile(`(?:^|; )task (\w+) ended: (.*?)(?:; |$)`)
	sameUntil = regexp.MustCompile(`the same (?:in \d+ polls )?until at_ms (\d+)`)
	taskLog   = regexp.MustCompile(`; log: (.*)$`)
	readBack  = regexp.MustCompile(`(?:^|; )GET then config: (\{.*\})`)
)

// reduced keeps what tests compare.
func reduced(e entry) (recordings.Exchange, error) {
	x := recordings.Exchange{
		Method: e.Request.Method, URL: e.Request.URL, Token: e.Request.Token, ContentType: e.Request.Headers["Content-Type"],
		Body: e.Request.RawBody, Status: e.Response.Status, Reason: e.Response.Reason, Reply: e.Response.Body,
		Parallel: strings.Contains(e.Note, "parallel") || strings.Contains(e.Note, "race"), AtOnce: strings.HasSuffix(e.Note, "immediately after"),
		ReadsBack: strings.Contains(e.Note, "reads back as sent"),
	}
	for header := range e.Request.Headers {
		if header != "Content-Type" {
			return x, fmt.Errorf("got a request header %s, want Content-Type alone", header)
		}
	}
	if m := taskEnded.FindStringSubmatch(e.Note); m != nil {
		x.TaskType, x.TaskExit = m[1], m[2]
	}
	if e.Via != "" {
		x.Section, _, _ = strings.Cut(e.Note, ": ")
		x.Via, x.At, x.Took = e.Via, e.AtMS, e.Response.ElapsedMS
	}
	if m := sameUntil.FindStringSubmatch(e.Note); m != nil {
		x.Until, _ = strconv.Atoi(m[1]) // digits
	}
	if m := taskLog.FindStringSubmatch(e.Note); m != nil {
		x.Log = strings.Split(m[1], " | ")
	}
	if m := readBack.FindStringSubmatch(e.Note); m != nil {
		value := json.NewDecoder(strings.NewReader(m[1]))
		if err := value.Decode(&x.ReadBack); err != nil {
			return x, fmt.Errorf("decode %s: %w", m[1], err)
		}
	}
	if strings.HasSuffix(e.Request.URL, "/firewall/macros") {
		x.Reply = withoutMacroTexts(x.Reply)
	}
	return x, nil
}

var macroText = regexp.MustCompile(`"descr":"(?:[^"\\]|\\.)*"`)

// withoutMacroTexts empties the descriptions of the firewall's macros, which are prose.
func withoutMacroTexts(reply string) string { return macroText.ReplaceAllString(reply, `"descr":""`) }
