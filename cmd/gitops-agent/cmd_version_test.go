package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-01T08:00:00Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	deps := []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0"},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
	}
	tests := map[string]struct {
		released string
		info     debug.BuildInfo
		output   string
		want     string
	}{
		"release": {
			"1.2.3",
			debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v0.0.0-1"}, Settings: settings("false")},
			outputText,
			"gitops-agent 1.2.3, commit abc of 2026-11-01T08:00:00Z, go1.26, " + platform + "\n",
		},
		"changed_sources": {
			"",
			debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v0.0.0-1+dirty"}, Settings: settings("true")},
			outputText,
			"gitops-agent v0.0.0-1+dirty, commit abc of 2026-11-01T08:00:00Z with changes, go1.26, " + platform + "\n",
		},
		"without_git": {"", debug.BuildInfo{GoVersion: "go1.26"}, outputText, "gitops-agent (devel), commit unknown, go1.26, " + platform + "\n"},
		"json": {
			"1.2.3",
			debug.BuildInfo{GoVersion: "go1.26", Settings: settings("true"), Deps: deps},
			outputJSON,
			`{"schemaVersion":1,"version":"1.2.3","commit":"abc","commitTime":"2026-11-01T08:00:00Z","modified":true,"goVersion":"go1.26","platform":"` + platform + `",` +
				`"modules":[{"path":"example.org/a","version":"v1.0.0"},{"path":"example.org/c","version":"v2.0.0"}]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := runVersion(&out, versionOptions{newBuild(test.released, &test.info), test.output}); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if test.output == outputJSON {
				got = strings.Join(strings.Fields(got), "")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
