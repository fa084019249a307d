package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shellCommands splits a script into its simple commands, each as words without quotes. Variables stay as they are written. It knows as much of the
// shell as the pages use: quotes, comments, continued lines, here-documents, lists, pipes, redirections and $(...).
func shellCommands(script string) [][]string {
	script = regexp.MustCompile(`(?ms)<<-?'?(\w+)'?([^\n]*)\n.*?^\w+$`).ReplaceAllString(strings.ReplaceAll(script, "\\\n", " "), "$2")
	var commands [][]string
	var words []string
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		for i, w := range words { // what follows a redirection is a file
			if strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<") {
				words = words[:i]
				break
			}
		}
		for len(words) > 0 && (regexp.MustCompile(`^\w+=`).MatchString(words[0]) || slices.Contains([]string{"if", "then", "do", "!", "exec", "export", "{"}, words[0])) {
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "sudo" && words[1] == "-u" {
			words = words[3:]
		} else if len(words) > 1 && words[0] == "sudo" {
			words = words[1:]
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case c == '\'' || c == '"':
			inWord = true
			end := strings.IndexByte(script[i+1:], c)
			if end < 0 {
				end = len(script) - i - 1
			}
			quoted := script[i+1 : i+1+end]
			word.WriteString(quoted)
			if _, inner, found := strings.Cut(quoted, "$("); found && c == '"' {
				commands = append(commands, shellCommands(inner[:max(0, strings.LastIndexByte(inner, ')'))])...)
			}
			i += end + 1
		case c == '#' && !inWord:
			for i < len(script) && script[i] != '\n' {
				i++
			}
			endCommand()
		case strings.IndexByte("\n;|&()", c) >= 0:
			endCommand()
		case c == ' ' || c == '\t':
			endWord()
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	endCommand()
	return commands
}

// The commands of pages exist, with their flags and the number of their arguments.
func TestDocCommandsParse(t *testing.T) {
	t.Parallel()
	tree := readCode(t, filepath.Join("..", ".."))
	keys := gitKeys(t)
	for _, b := range allBlocks(t) {
		if !b.isCommands() {
			continue
		}
		for _, words := range shellCommands(b.script()) {
			if problem := wrongCommand(tree, keys, words); problem != "" {
				t.Errorf("%v: %s: %s", b, strings.Join(words, " "), problem)
			}
		}
	}
}

// wrongCommand returns what is wrong with a command of a page, or nothing.
func wrongCommand(tree *codeTree, keys []string, words []string) string {
	switch program, args := words[0], words[1:]; program {
	case "gitops-agent":
		if err := parses(args); err != nil {
			return err.Error()
		}
	case "git":
		if len(args) > 1 && args[0] == "config" {
			i := slices.IndexFunc(args[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
			if i < 0 || !slices.ContainsFunc(keys, func(key string) bool { return fits(key, args[1+i]) }) {
				return "neither git nor gitsign has this key"
			}
		}
	case "go":
		return wrongGo(tree, args)
	}
	return ""
}

// fits reports whether a setting is one that git lists: names in angle brackets stand for any name.
func fits(listed, key string) bool {
	return regexp.MustCompile("(?i)^" + regexp.MustCompile(`<[a-z-]+>`).ReplaceAllString(regexp.QuoteMeta(listed), ".+") + "$").MatchString(key)
}

// parses returns an error if the program would refuse the command line before it does anything.
func parses(args []string) error {
	root := newRootCommand(&program{out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// gitsignKeys are the settings of gitsign that the pages use, from its README.
var gitsignKeys = []string{
	"gitsign.fulcio", "gitsign.fulcioRoot", "gitsign.clientID", "gitsign.issuer", "gitsign.rekor", "gitsign.connectorID", "gitsign.tokenProvider",
	"gitsign.timestampServerURL", "gitsign.rekorMode",
}

// gitKeys returns the settings that git and gitsign know, and those of the hooks in examples/hooks.
func gitKeys(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "help", "-c").Output()
	if err != nil {
		t.Fatal(err)
	}
	keys := slices.Concat(strings.Fields(string(out)), gitsignKeys)
	for _, name := range []string{"pre-receive", "prepare-commit-msg"} {
		hook, err := os.ReadFile(filepath.Join("..", "..", "examples", "hooks", name))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, regexp.MustCompile(`gitops\.\w+`).FindAllString(string(hook), -1)...)
	}
	return keys
}

// wrongGo checks that the packages of a go command exist, and that -run, -bench and -fuzz select something in them.
func wrongGo(tree *codeTree, args []string) string {
	var dirs, patterns []string
	for i, arg := range args {
		if dir, found := strings.CutPrefix(arg, "./"); found {
			dirs = append(dirs, strings.TrimSuffix(dir, "/"))
		}
		if slices.Contains([]string{"-run", "-bench", "-fuzz"}, arg) && i+1 < len(args) {
			pattern, _, _ := strings.Cut(args[i+1], "/")
			patterns = append(patterns, map[string]string{"-run": "Test", "-bench": "Benchmark", "-fuzz": "Fuzz"}[arg]+"|"+pattern)
		}
	}
	for _, dir := range dirs {
		if recursive, found := strings.CutSuffix(dir, "..."); (!found && tree.packages[dir] == nil) || (found && !tree.exists(recursive+"*", nil)) {
			return "no package ./" + dir
		}
	}
	for _, pattern := range patterns {
		kind, expression, _ := strings.Cut(pattern, "|")
		selects, err := regexp.Compile(expression)
		if err != nil {
			return err.Error()
		}
		found := expression == "^$"
		for _, dir := range dirs {
			for name, p := range tree.packages {
				if below, recursive := strings.CutSuffix(dir, "..."); name != dir && (!recursive || !strings.HasPrefix(name+"/", below)) {
					continue
				}
				for symbol := range p.symbols {
					found = found || strings.HasPrefix(symbol, kind) && selects.MatchString(symbol)
				}
			}
		}
		if !found && len(dirs) > 0 {
			return "no " + strings.ToLower(kind) + " matches " + expression
		}
	}
	return ""
}

// Every flag in the text of pages exists: in sentences and synopses, where a command is not complete.
func TestDocFlagsExist(t *testing.T) {
	t.Parallel()
	mention := regexp.MustCompile("(?m)`gitops-agent ([a-z][^`]*)`|^gitops-agent ([a-z].*)$")
	for page, text := range manuals(t) {
		for _, b := range docBlocks(page, text) {
			if b.lang == "text" {
				text += b.text
			}
		}
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			root := newRootCommand(&program{out: io.Discard, err: io.Discard})
			root.InitDefaultHelpCmd()
			line := m[1] + m[2]
			if before, _, found := strings.Cut(line, " # "); found {
				line = before
			}
			cmd, _, err := root.Find(strings.Fields(regexp.MustCompile(`[[<|\x60…].*`).ReplaceAllString(line, "")))
			if err != nil {
				continue // TestManualNamesCommandsThatExist
			}
			for _, flag := range regexp.MustCompile(`(?:^|[ [|])--([a-z-]+)`).FindAllStringSubmatch(line, -1) {
				if lookup(cmd, flag[1]) == nil {
					t.Errorf("%s: got the flag --%s of %s in %q, which does not exist", page, flag[1], cmd.CommandPath(), line)
				}
			}
		}
	}
}

func lookup(cmd *cobra.Command, flag string) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	if found := cmd.Flags().Lookup(flag); found != nil {
		return found
	}
	return cmd.InheritedFlags().Lookup(flag)
}

// Wrong commands of each form are found.
func TestWrongCommandsInDocs(t *testing.T) {
	t.Parallel()
	tree := readCode(t, filepath.Join("..", ".."))
	keys := gitKeys(t)
	for script, wrong := range map[string]bool{
		"sudo -u gitops-agent gitops-agent run --once --dry-run > /dev/null": false, "x=1 gitops-agent plan --dir .": false,
		"gitops-agent run --twice": true, "true && gitops-agent fly": true, "gitops-agent validate": true, "echo \"$(gitops-agent status --no-such)\"": true,
		"git config gitsign.rekorMode offline": false, "git config --global commit.gpgSign true": false, "git config gitsign.rekormod offline": true,
		"go test ./verify -run '^$' -bench 'ProveCorpus|Audit$'": false, "go test ./no/such": true, "go test ./verify -bench NoSuch": true, "go run ./cmd/demo": false,
		"cat <<'END'\ngitops-agent fly\nEND\ntrue": false, "gitops-agent plan -o text # --no-such": false, "gitops-agent plan \\\n  --no-such": true,
	} {
		found := false
		for _, words := range shellCommands(script) {
			found = found || wrongCommand(tree, keys, words) != ""
		}
		if found != wrong {
			t.Errorf("%q: got wrong %t, want %t", script, found, wrong)
		}
	}
}
