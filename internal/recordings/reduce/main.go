// Command reduce makes the data of package recordings from the recorded material beside the repository: it keeps the values that tests
// compare, and omits prose, headers and times.
//
//	go run ./internal/recordings/reduce [-check] [../shared]
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gitops-agent/internal/recordings"
)

func main() {
	check := flag.Bool("check", false, "compare the embedded data with the material and write nothing")
	flag.Parse()
	shared := "../shared"
	if flag.NArg() > 0 {
		shared = flag.Arg(0)
	}
	if err := run(shared, filepath.Join("internal", "recordings", "data"), *check, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "reduce:", err)
		os.Exit(1)
	}
}

// run reduces the material in shared and writes it to the folder out, or compares it with the embedded data.
func run(shared, out string, check bool, log io.Writer) error {
	lines := map[string]func() ([]byte, error){
		recordings.FirstName: func() ([]byte, error) {
			return transcripts(filepath.Join(shared, "transcripts", "[0-4]*.json"))
		},
		// Nothing compares the uploads of 69 and what was recorded after them.
		recordings.SecondName: func() ([]byte, error) {
			return transcripts(filepath.Join(shared, "transcripts", "5*.json"), filepath.Join(shared, "transcripts", "6[0-8]*.json"))
		},
		recordings.ThirdName: func() ([]byte, error) {
			return transcripts(filepath.Join(shared, "transcripts", "7[2-5]-*.json"))
		},
		recordings.RoundtripsName: func() ([]byte, error) {
			return roundtrips(filepath.Join(shared, "transcripts", "ROUNDTRIPS.md"))
		},
		recordings.SchemaName: func() ([]byte, error) { return schemas(filepath.Join(shared, "schema")) },
	}
	for name, reduce := range lines {
		text, err := reduce()
		if err != nil {
			return fmt.Errorf("reduce to %s: %w", name, err)
		}
		if check {
			embedded, err := recordings.Text(name)
			if err != nil {
				return err
			}
			if !bytes.Equal(text, embedded) {
				return fmt.Errorf("%s differs from the recorded material: run go run ./internal/recordings/reduce", name)
			}
			continue
		}
		packed, err := pack(text)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), packed, 0o644) //nolint:gosec // a file of the repository
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		fmt.Fprintf(log, "%s: %d bytes, %d compressed\n", name, len(text), len(packed))
	}
	return nil
}

func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// jsonLines encodes each value as one line, without escapes for HTML.
func jsonLines[T any](values []T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
