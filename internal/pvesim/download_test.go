package pvesim

import (
	"cmp"
	"strings"
	"testing"
)

const (
	imageURL = "https://images.example/debian-12.qcow2"
	imageSum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bc822cd15d6c15b0f00a0"
)

func TestDownloadEndsWithTheWholeFileOrWithNone(t *testing.T) {
	good := WebFile{Size: 100 << 20, Format: "qcow2", VirtualSize: 2 << 30, Checksums: map[string]string{"sha256": imageSum}}
	tests := map[string]struct {
		prepare func(*Sim, *WebFile)
		sum     string
		exit    string
		kept    bool
	}{
		"whole":          {nil, imageSum, "OK", true},
		"upper_case_sum": {nil, strings.ToUpper(imageSum), "OK", true},
		"wrong_checksum": {nil, strings.Repeat("0", 64), "checksum mismatch: got '" + imageSum + "' != expect '" + strings.Repeat("0", 64) + "'", false},
		"cut":            {func(_ *Sim, f *WebFile) { f.Cut = 40 << 20 }, imageSum, "download failed: exit code 4", false},
		"missing":        {func(_ *Sim, f *WebFile) { f.Status = "404 Not Found" }, imageSum, "download failed: exit code 8", false},
		"full_storage":   {func(s *Sim, _ *WebFile) { s.FillStorage("local") }, imageSum, "(No space left on device).", false},
		"other_format":   {func(_ *Sim, f *WebFile) { f.Format = "raw" }, imageSum, "Image is not in qcow2 format", false},
		"redirect_loop":  {func(_ *Sim, f *WebFile) { f.RedirectTo = imageURL }, imageSum, "download failed: exit code 8", false},
		"killed":         {func(s *Sim, _ *WebFile) { _ = s.Inject(Fault{Path: "download-url", Kind: TaskKilled}) }, imageSum, "unexpected status", false},
		"no_wget":        {func(_ *Sim, f *WebFile) { f.Failure = "no wget" }, imageSum, "download failed: no wget", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				file := good
				if test.prepare != nil {
					test.prepare(c.sim, &file)
				}
				c.sim.Publish(imageURL, file)
				got := c.download("debian-12.qcow2", test.sum)
				if !strings.HasSuffix(got, test.exit) {
					t.Errorf("got exit %q, want %q", got, test.exit)
				}
				listed := strings.Contains(string(c.call("GET", "/nodes/pve1/storage/local/content", "content=import").body), "local:import/debian-12.qcow2")
				if listed != test.kept {
					t.Errorf("got the file listed: %t, want %t", listed, test.kept)
				}
			})
		})
	}
}

// TestDownloadDecompressesISOAlone lets nodes decompress files of each content. What the storage does not support is refused in the task.
func TestDownloadDecompressesISOAlone(t *testing.T) {
	tests := map[string]struct{ content, name, compression, exit string }{
		"iso_gz":        {"iso", "a.iso", "gz", "OK"},
		"iso_zst":       {"iso", "a.img", "zst", "OK"},
		"iso_lzo":       {"iso", "a.iso", "lzo", "OK"},
		"iso_bz2":       {"iso", "a.iso", "bz2", "OK"},
		"iso_xz":        {"iso", "a.iso", "xz", "no decompression method found"},
		"import_gz":     {"import", "a.qcow2", "gz", "decompression not supported for import"},
		"import_xz":     {"import", "a.raw", "xz", "decompression not supported for import"},
		"template_zst":  {"vztmpl", "a.tar.zst", "zst", "decompression not supported for vztmpl"},
		"import_as_raw": {"import", "a.raw", "", "OK"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				c.sim.Publish(imageURL, WebFile{Size: 1 << 20, Compression: test.compression, Unpacked: 4 << 20})
				parameters := []string{"content=" + test.content, "filename=" + test.name, "url=" + imageURL}
				if test.compression != "" {
					parameters = append(parameters, "compression="+test.compression)
				}
				if got := c.task("POST", "/nodes/pve1/storage/local/download-url", parameters...); got != test.exit {
					t.Errorf("got exit %q, want %q", got, test.exit)
				}
				listed := strings.Contains(string(c.call("GET", "/nodes/pve1/storage/local/content", "content="+test.content).body), test.content+"/"+test.name)
				if want := test.exit == "OK"; listed != want {
					t.Errorf("got the file listed: %t, want %t", listed, want)
				}
			})
		})
	}
}

func TestDownloadNeverOverwrites(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		file := WebFile{Size: 1 << 20, Format: "qcow2", Checksums: map[string]string{"sha256": imageSum}}
		c.sim.Publish(imageURL, file)
		if got := c.download("debian-12.qcow2", imageSum); got != "OK" {
			t.Fatalf("got exit %q, want OK", got)
		}
		c.sim.Unpublish(imageURL)
		if got := c.download("debian-12.qcow2", imageSum); got != "OK" {
			t.Errorf("got exit %q for a file that is there, want OK without a connection", got)
		}
		if got := c.download("debian-12.qcow2", strings.Repeat("0", 64)); !strings.HasSuffix(got, ", aborting") {
			t.Errorf("got exit %q for another checksum, want it aborted", got)
		}
		if err := c.sim.AddVolume("local:import/by-hand.qcow2", 5); err != nil {
			t.Fatal(err)
		}
		if got := c.download("by-hand.qcow2", imageSum); !strings.HasSuffix(got, ", aborting") {
			t.Errorf("got exit %q for a file of somebody else, want it aborted", got)
		}
	})
}

func TestDownloadNeedsTwoPrivileges(t *testing.T) {
	for name, test := range map[string]struct {
		privileges []string
		want       string // in the reason; "" if the call is allowed
	}{
		"storage_only":     {[]string{"Datastore.AllocateTemplate"}, "Permission check failed"},
		"network_only":     {[]string{"Sys.AccessNetwork"}, "Permission check failed (/storage/local, Datastore.AllocateTemplate)"},
		"both":             {[]string{"Datastore.AllocateTemplate", "Sys.AccessNetwork"}, ""},
		"root_of_the_tree": {[]string{"Datastore.AllocateTemplate", "Sys.Audit", "Sys.Modify"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Tokens: append(DefaultTokens(), Token{ID: "r@pve!images", Secret: "s", ACL: []ACL{{Path: "/", Privileges: test.privileges}}})}
			bubble(t, opts, func(t *testing.T, c *client) {
				c.sim.Publish(imageURL, WebFile{Size: 1})
				got := c.as("r@pve!images").call("POST", "/nodes/pve1/storage/local/download-url", "content=iso", "filename=a.iso", "url="+imageURL)
				if want := cmp.Or(test.want, "OK"); got.reason != want {
					t.Errorf("got %q, want %q", got.reason, want)
				}
			})
		})
	}
}

// download downloads imageURL to local:import/NAME, and returns how the task ended.
func (c *client) download(name, sum string) string {
	c.t.Helper()
	return c.task("POST", "/nodes/pve1/storage/local/download-url", "content=import", "filename="+name, "url="+imageURL, "checksum="+sum, "checksum-algorithm=sha256")
}

// TestDeletedFile deletes files with the call that deletes any content: also what a guest uses, and what is not there.
func TestDeletedFile(t *testing.T) {
	const file = "/storage/local/content/local:import/debian-12.qcow2"
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		listed := func(node string) bool {
			return strings.Contains(string(c.call("GET", "/nodes/"+node+"/storage/local/content", "content=import").body), "local:import/debian-12.qcow2")
		}
		c.sim.Publish(imageURL, WebFile{Size: 1 << 20, Format: "qcow2", Checksums: map[string]string{"sha256": imageSum}})
		if got := c.download("debian-12.qcow2", imageSum); got != "OK" {
			t.Fatalf("got exit %q, want OK", got)
		}
		if !listed("pve1") || listed("pve2") {
			t.Error("got the file of a local storage on a node that did not download it, want it on the other node alone")
		}
		if got := c.task("DELETE", "/nodes/pve2"+file); got != "OK" || !listed("pve1") {
			t.Errorf("got exit %q and the file of pve1 there: %t, want OK and the file", got, listed("pve1"))
		}
		for range 2 { // Proxmox only warns about a file that is not there
			if got := c.task("DELETE", "/nodes/pve1"+file); got != "OK" || listed("pve1") {
				t.Errorf("got exit %q and the file there: %t, want OK and no file", got, listed("pve1"))
			}
		}
		if got := c.sim.Counters().Objects["/storage/local:import/debian-12.qcow2"]["DELETE"]; got != 1 {
			t.Errorf("got %d deletions counted, want one", got)
		}
		if err := c.sim.AddVolume("local:iso/used.iso", 1<<20); err != nil {
			t.Fatal(err)
		}
		vmid, err := c.sim.AddVM(Guest{Config: "name: a\nide2: local:iso/used.iso,media=cdrom\n"})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.task("DELETE", "/nodes/pve1/storage/local/content/local:iso/used.iso"); got != "OK" {
			t.Errorf("got exit %q for a file in a drive, want OK", got)
		}
		if got := c.sim.Value(vmid, "ide2"); !strings.Contains(got, "used.iso") {
			t.Errorf("got the drive %q, want it as it was", got)
		}
	})
}
