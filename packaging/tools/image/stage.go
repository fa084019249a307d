package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// stage is the last stage of a Dockerfile.
type stage struct {
	context string // the folder of the Dockerfile, from which files are copied
	config  v1.Config
	copies  []copied
}

// copied is a COPY instruction.
type copied struct {
	fromBuild bool // from the stage that builds the program
	uid, gid  int
	sources   []string
	target    string
	text      string
}

func (c copied) String() string { return c.text }

// readStage reads the last stage of the Dockerfile in a folder. It knows the instructions that this stage needs, one on each line, and fails on every other one, so
// that nothing of the Dockerfile is missing in the image. args are the build arguments.
func readStage(folder string, args map[string]string) (stage, error) {
	text, err := os.ReadFile(filepath.Join(folder, "Dockerfile"))
	if err != nil {
		return stage{}, err
	}
	lines := strings.Split(string(text), "\n")
	first := -1
	for i, line := range lines {
		if strings.HasPrefix(line, "FROM ") {
			first = i
		}
	}
	if first < 0 || lines[first] != "FROM scratch" {
		return stage{}, fmt.Errorf("got a Dockerfile whose last stage is not FROM scratch")
	}
	s := stage{context: folder, config: v1.Config{Labels: map[string]string{}}}
	for i, line := range lines[first+1:] {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.instruction(line, args); err != nil {
			return stage{}, fmt.Errorf("line %d of the Dockerfile: %w", first+2+i, err)
		}
	}
	return s, nil
}

// label is a LABEL instruction with one label whose value is quoted and is a text or one argument.
var label = regexp.MustCompile(`^([a-z.]+)="([^"$\\]*|\$[A-Z]+)"$`)

func (s *stage) instruction(line string, args map[string]string) error {
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "ARG":
		if _, ok := args[rest]; !ok {
			return fmt.Errorf("unknown argument %s", rest)
		}
	case "LABEL":
		parts := label.FindStringSubmatch(rest)
		if parts == nil {
			return fmt.Errorf("got label %s, want key=\"text\" or key=\"$ARGUMENT\"", rest)
		}
		value := parts[2]
		if argument, ok := strings.CutPrefix(value, "$"); ok {
			if value, ok = args[argument]; !ok {
				return fmt.Errorf("unknown argument %s", argument)
			}
		}
		s.config.Labels[parts[1]] = value
	case "COPY":
		c, err := newCopied(line, strings.Fields(rest))
		if err != nil {
			return err
		}
		s.copies = append(s.copies, c)
	case "ENV":
		s.config.Env = append(s.config.Env, rest)
	case "USER":
		s.config.User = rest
	case "WORKDIR":
		s.config.WorkingDir = rest
	case "VOLUME":
		s.config.Volumes = map[string]struct{}{rest: {}}
	case "EXPOSE":
		s.config.ExposedPorts = map[string]struct{}{rest + "/tcp": {}}
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &s.config.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &s.config.Cmd)
	default:
		return fmt.Errorf("unknown instruction %s", name)
	}
	return nil
}

func newCopied(line string, words []string) (copied, error) {
	c := copied{text: line}
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		switch name, value, _ := strings.Cut(words[0], "="); name {
		case "--from":
			if value != "build" {
				return copied{}, fmt.Errorf("unknown stage %s", value)
			}
			c.fromBuild = true
		case "--chown":
			uid, gid, _ := strings.Cut(value, ":")
			var err error
			if c.uid, err = strconv.Atoi(uid); err != nil {
				return copied{}, fmt.Errorf("owner %s: %w", value, err)
			}
			if c.gid, err = strconv.Atoi(gid); err != nil {
				return copied{}, fmt.Errorf("owner %s: %w", value, err)
			}
		default:
			return copied{}, fmt.Errorf("unknown flag %s", name)
		}
		words = words[1:]
	}
	if len(words) < 2 {
		return copied{}, fmt.Errorf("want sources and a target")
	}
	c.sources, c.target = words[:len(words)-1], words[len(words)-1]
	return c, nil
}
