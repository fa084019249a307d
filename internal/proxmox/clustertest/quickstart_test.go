package clustertest_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"gitops-agent/examples/manifests"
	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// The manifests of the quickstart parse, and contain the guest of its text.
func TestQuickstartManifestsParse(t *testing.T) {
	set, err := manifest.Parse(documentedManifests(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Guests) != 1 || set.Guests[0].Label() != "VirtualMachine/hello" {
		t.Fatalf("got guests %v, want only hello", set.Guests)
	}
	if lacks := lacking(t, wanted(t, set)); len(lacks) > 0 {
		t.Errorf("got %v lacking, want the role to be sufficient", lacks)
	}
}

// documentedManifests returns the blocks of the quickstart that begin with a file name.
func documentedManifests(t *testing.T) []manifest.File {
	t.Helper()
	var files []manifest.File
	for _, block := range regexp.MustCompile("(?s)```yaml\n# ([a-z]+\\.yaml)\n(.*?)```").FindAllStringSubmatch(page(t, "quickstart.md"), -1) {
		files = append(files, manifest.File{Path: block[1], Data: []byte(block[2])})
	}
	return files
}

// privileges.md names every privilege that the examples need and the roles lack.
func TestExamplesNeedWhatIsDocumented(t *testing.T) {
	text := page(t, "privileges.md")
	repositories, err := fs.ReadDir(manifests.Files, ".")
	if err != nil || len(repositories) == 0 {
		t.Fatalf("got %v, error %v, want examples", repositories, err)
	}
	for _, repository := range repositories {
		set, err := manifest.Parse(exampleFiles(t, repository.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, lack := range lacking(t, wanted(t, set)) {
			if !strings.Contains(text, lack.Privilege) {
				t.Errorf("%s: got no mention of %s on %s, which %s needs", repository.Name(), lack.Privilege, lack.Path, lack.Key)
			}
		}
	}
}

func exampleFiles(t *testing.T, repository string) []manifest.File {
	t.Helper()
	var files []manifest.File
	err := fs.WalkDir(manifests.Files, repository, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, encrypted.SOPS.Suffix()) {
			return err
		}
		data, err := manifests.Files.ReadFile(name)
		files = append(files, manifest.File{Path: strings.TrimPrefix(name, path.Clean(repository)+"/"), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wanted(t *testing.T, set manifest.Set) []guest.Desired {
	t.Helper()
	guests, err := set.Lower(nil)
	if err != nil {
		t.Fatal(err)
	}
	return guests
}

// lacking returns the privileges that guests need and the documented roles do not grant, according to Proxmox's answer to the token.
func lacking(t *testing.T, guests []guest.Desired) (lacks []guest.Need) {
	t.Helper()
	sim := pvesim.New(documented(t, pvesim.Options{}))
	t.Cleanup(sim.Close)
	client := connect(t, proxmox.Options{Endpoints: []string{"https://pve1"}, Transport: sim.Transport(), TokenFile: file(t, sim.Token(agentToken))})
	granted, err := client.Permissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, desired := range guests {
		for _, need := range guest.Privileges(desired) {
			if !granted.Allow(need.Path, need.Privilege) && (need.Or == "" || !granted.Allow(need.Path, need.Or)) {
				lacks = append(lacks, need)
			}
		}
	}
	return lacks
}
