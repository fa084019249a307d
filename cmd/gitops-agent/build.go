package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"gitops-agent/metrics"
)

// version is the version of a release, which packaging/build sets with -ldflags. Other builds have the version that the toolchain derives from git.
var version string

// build is what this program was built from.
type build struct {
	metrics.Build
	CommitTime string // RFC 3339; empty if the toolchain recorded none
	Modified   bool   // the sources differed from the commit
	Platform   string // such as linux/amd64
	Modules    []debug.Module
}

func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return newBuild(version, info)
}

// newBuild reads what the toolchain recorded in a program. Without a released version and a recorded one, the version is "(devel)".
func newBuild(released string, info *debug.BuildInfo) build {
	b := build{Platform: runtime.GOOS + "/" + runtime.GOARCH}
	b.Build = metrics.Build{Version: cmp.Or(released, info.Main.Version, "(devel)"), Commit: "unknown", GoVersion: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.CommitTime = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules = append(b.Modules, *m)
	}
	return b
}
