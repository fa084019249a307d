package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"gitops-agent/internal/shell"
	"gitops-agent/reconcile/hostfile"
)

// hostFile is a file that the config names, or the config itself.
type hostFile struct{ field, path string }

// untrusted are the fields with files that decide nothing: what the list of guests says is asked again.
var untrusted = []string{"proxmox.vmlist_file"}

// trustedFiles returns the files that decide whom the agent trusts, and what it sends as its own: the config, and every file and folder that a field of it names by the name of the
// field. The files of secrets_dir are checked when they are read.
func (c Config) trustedFiles() []hostFile {
	files := []hostFile{{"the config", c.file}}
	eachFile(reflect.ValueOf(c), "", func(field, path string) {
		if !slices.Contains(untrusted, field) {
			files = append(files, hostFile{field, path})
		}
	})
	for i, path := range c.Policies {
		field := fmt.Sprintf("policies[%d]", i)
		files = append(files, hostFile{field, path})
		inFolder, _ := filepath.Glob(filepath.Join(path, "*")) // none if it is a file
		for _, file := range inFolder {
			files = append(files, hostFile{field, file})
		}
	}
	return files
}

// eachFile calls visit for each text of a config whose field is a file or folder by its name: token_file, key_files, state_dir, or the file of an identity.
func eachFile(v reflect.Value, field string, visit func(field, path string)) {
	switch v.Kind() { //nolint:exhaustive // others hold no file
	case reflect.Pointer:
		if !v.IsNil() {
			eachFile(v.Elem(), field, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if v.Type().Field(i).IsExported() && name != "-" {
				eachFile(v.Field(i), strings.TrimSuffix(strings.TrimPrefix(field+"."+name, "."), "."), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachFile(v.Index(i), fmt.Sprintf("%s[%d]", field, i), visit)
		}
	case reflect.String:
		if namesFile(field) {
			visit(field, v.String())
		}
	}
}

// namesFile reports whether the last name of a field is that of a file or folder.
func namesFile(field string) bool {
	name, _, _ := strings.Cut(field[strings.LastIndexByte(field, '.')+1:], "[")
	return name == "file" || strings.HasSuffix(name, "_file") || strings.HasSuffix(name, "_files") || strings.HasSuffix(name, "_dir")
}

// checkTrustedFiles returns a *HostFileError for each file of trustedFiles that other users than root and the agent's may change, by the file itself, a link to it or a folder above it. If
// root checks the config, the owner of the state directory counts as the agent's user.
func (c Config) checkTrustedFiles() error {
	var users []int
	if os.Geteuid() == 0 {
		users = ownerOf(c.StateDir)
	}
	var problems []error
	seen := make(map[string]bool)
	for _, f := range c.trustedFiles() {
		if f.path == "" {
			continue
		}
		err := hostfile.CheckTrusted(f.path, users...)
		var unsafe *hostfile.UnsafeError
		if !errors.As(err, &unsafe) || seen[unsafe.Path] {
			continue // the reader of the file reports every other error
		}
		seen[unsafe.Path] = true
		problems = append(problems, unsafeFile(f.field, f.path, unsafe))
	}
	return errors.Join(problems...)
}

// unsafeFile is the error about a file that a field of the config names.
func unsafeFile(field, path string, unsafe *hostfile.UnsafeError) error {
	where := field + ": " + path
	if absolute, err := filepath.Abs(path); err != nil || absolute != unsafe.Path {
		where += ": " + unsafe.Path
	}
	return &HostFileError{Problem: where + " " + unsafe.Problem + ", so other users may change it, and with it whom the agent trusts", Fix: unsafe.Command(shell.Word)}
}

// ownerOf returns the owner of a path, if it is known.
func ownerOf(path string) []int {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known {
		return []int{int(owner.Uid)}
	}
	return nil
}
