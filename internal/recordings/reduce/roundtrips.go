package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"gitops-agent/internal/recordings"
)

// roundtrips reduces the table of recorded writes, whose columns are key, sent, got, same and refusal.
func roundtrips(path string) ([]byte, error) {
	table, err := os.ReadFile(path) //nolint:gosec // the path is the caller's own
	if err != nil {
		return nil, err
	}
	var rows []recordings.Roundtrip
	for line := range strings.SplitSeq(string(table), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| key |") {
			continue
		}
		row, err := roundtrip(line)
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", line, err)
		}
		rows = append(rows, row)
	}
	return jsonLines(rows)
}

func roundtrip(line string) (recordings.Roundtrip, error) {
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), " | ")
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "\x00", "|")
	}
	if len(cells) != 5 {
		return recordings.Roundtrip{}, fmt.Errorf("got %d cells, want 5", len(cells))
	}
	sent, err := pythonText(cells[1])
	if err != nil {
		return recordings.Roundtrip{}, err
	}
	got, err := pythonJSON(cells[2])
	return recordings.Roundtrip{
		Key: strings.TrimPrefix(cells[0], "| "), Sent: sent, Got: got, Same: cells[3] == "yes",
		Refusal: strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(cells[4], "|"), " ")),
	}, err
}

var longText = regexp.MustCompile(`(?s)^'(.).*\.\.\.\((\d+) chars\)$`)

// pythonText reads a Python string as its repr prints it. An abridged one repeats its first letter.
func pythonText(s string) (string, error) {
	if m := longText.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n), err
	}
	if len(s) < 2 || s[0] != '\'' && s[0] != '"' || s[len(s)-1] != s[0] {
		return "", fmt.Errorf("got %s, want a Python string", s)
	}
	q := s[0]
	var b strings.Builder
	for rest := s[1 : len(s)-1]; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, q)
		if err != nil && len(rest) > 1 && rest[0] == '\\' { // Python escapes either quote
			r, multibyte, tail = rune(rest[1]), false, rest[2:]
		} else if err != nil {
			return "", fmt.Errorf("unquote %s: %w", s, err)
		}
		if multibyte || r < 0x80 {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	return b.String(), nil
}

// pythonJSON returns the JSON of a value as Python prints it, "" for an absent one.
func pythonJSON(s string) (string, error) {
	switch {
	case s == "absent":
		return "", nil
	case s == "":
		return "", fmt.Errorf("got an empty cell, want a value or absent")
	case s[0] == '\'' || s[0] == '"':
		text, err := pythonText(s)
		if err != nil {
			return "", err
		}
		out, err := jsonLines([]string{text})
		return strings.TrimSuffix(string(out), "\n"), err
	case !json.Valid([]byte(s)):
		return "", fmt.Errorf("got %s, want a number", s)
	}
	return s, nil
}
