package main

import (
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"gitops-agent/internal/tuftest"
)

// scriptTB lets a TUF repository end with a script.
type scriptTB struct{ *testscript.TestScript }

func (s scriptTB) Fatal(args ...any)   { s.Fatalf("%s", fmt.Sprint(args...)) }
func (s scriptTB) Cleanup(stop func()) { s.Defer(stop) }

// tufCommand starts a TUF repository whose newest trusted root is that of the stage.
func tufCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: tuf")
	}
	m := tuftest.New(scriptTB{ts})
	root, err := os.ReadFile(stageOf(ts).path("sigstore/trusted_root.json"))
	ts.Check(err)
	m.Publish(root, tuftest.Soon())
	ts.Check(stageOf(ts).write("tuf-root.json", string(m.Get("/1.root.json"))))
	ts.Setenv("TUF", m.URL)
}
