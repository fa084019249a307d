package manifest_test

import (
	"flag"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)            // the tests allocate much and keep little
	_ = flag.Set("rapid.checks", "40") // a check adopts a random cluster; .ci/long does many, with the flag of the command line
	m.Run()
}
