package pvesim

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// WebFile is a file of a web server that the nodes of the simulated cluster reach. The simulator itself connects to nothing.
type WebFile struct {
	Size        int64             // of what is transferred
	Type        string            // the content type that the server sends; default application/octet-stream
	Checksums   map[string]string // in lower case by algorithm, sha256; of what is transferred
	Format      string            // what qemu-img finds in it: qcow2, vmdk or raw; default raw
	VirtualSize int64             // of a disk image in the format qcow2 or vmdk
	Compression string            // gz, zst, lzo or bz2: the file is compressed, and Unpacked are its bytes afterwards
	Unpacked    int64

	Status     string // the server refuses: "404 File not found"
	RedirectTo string // an absolute URL of another file
	SelfSigned bool   // the certificate of the server is not trusted
	Cut        int64  // the connection breaks after so many bytes, at every try; 0 means never
	Failure    string // wget fails before it connects, with this text
}

// Publish puts a file on a web server under an absolute URL. Another file with the URL is replaced.
func (s *Sim) Publish(address string, file WebFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.web[address] = file
}

// Unpublish removes the file with the URL from its web server. Without any file left, nothing listens there.
func (s *Sim) Unpublish(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.web, address)
}

// The file names that a storage accepts for each content.
var downloadNames = map[string]*pattern{
	"iso":    newPattern(`(?i)\.(iso|img)$`),
	"vztmpl": newPattern(`(?i)\.tar\.(gz|xz|zst|bz2)$`),
	"import": newPattern(`^[a-zA-Z0-9_.+=-]+\.(ova|ovf|qcow2|raw|vmdk)$`),
}

// The program that unpacks each compression.
var decompressors = map[string]string{"gz": "zcat", "zst": "zstd -q -d -c", "lzo": "lzop -d -c", "bz2": "bzcat -q"}

// downloadContent accepts what can be fetched. Another text that names no content at all has the wrong format.
var downloadContent = rule{typ: typeString, check: checkContentType, enum: []string{"iso", "vztmpl", "import"}}

func downloadRoute() *route {
	return writeRoute(http.MethodPost, "/nodes/{node}/storage/{storage}/download-url", downloadURL).withParams(map[string]rule{
		"content": downloadContent.needed(), "filename": text().length(0, 255).needed(), "url": matching(`https?://.*`).needed(),
		"checksum": text().with("checksum-algorithm"), "checksum-algorithm": enum("md5", "sha1", "sha224", "sha256", "sha384", "sha512").with("checksum"),
		"compression": text(), "verify-certificates": boolean(),
	}).withPermission(func(c *call) error {
		if err := c.require("/storage/"+c.vars["storage"], "Datastore.AllocateTemplate"); err != nil {
			return err
		}
		if c.allowed("/", "Sys.Audit") && c.allowed("/", "Sys.Modify") || c.allowed("/nodes/"+c.node(), "Sys.AccessNetwork") {
			return nil
		}
		return &apiError{status: http.StatusForbidden, message: "Permission check failed\n"}
	})
}

// downloadURL lets a node fetch a file into a storage. It starts the task before it looks at the file or at the compression.
func downloadURL(c *call) (reply, error) {
	content, name := c.params["content"], normalizedName(c.params["filename"])
	err := c.sim.locked(func() error {
		st, err := c.storage()
		switch {
		case err != nil:
			return err
		case !slices.Contains(listOf(st.Content), content):
			return apiErrorf("storage '%s' is not configured for content-type '%s'", st.ID, content)
		case !downloadNames[content].MatchString(name) && content == "import":
			return paramError("filename", "invalid filename or wrong extension")
		case !downloadNames[content].MatchString(name) && !c.sim.isOCIArchive(content, name):
			return paramError("filename", "wrong file extension")
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return c.startAs("download", name, 0, func(t *task) error {
		verify, given := c.params["verify-certificates"]
		d := download{
			task: t, storage: c.vars["storage"], name: content + "/" + name, content: content, url: c.params["url"], compression: c.params["compression"],
			checksum: strings.ToLower(c.params["checksum"]), algorithm: c.params["checksum-algorithm"], trusting: given && verify == "0",
		}
		return d.run()
	})
}

// isOCIArchive reports whether a file is a container template that is an archive of an OCI image, by its name.
func (s *Sim) isOCIArchive(content, name string) bool {
	return s.major() >= 9 && content == "vztmpl" && strings.HasSuffix(strings.ToLower(name), ".tar")
}

var unusualInName = newPattern(`[^a-zA-Z0-9_.-]`)

// normalizedName returns the last part of a path with unusual characters replaced.
func normalizedName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	return unusualInName.ReplaceAllString(name, "_")
}

// download is the work of one task. It writes into a temporary file, which no list of volumes shows.
type download struct {
	*task
	storage, name, content, url, compression, checksum, algorithm string
	trusting                                                      bool // certificates are not verified
}

// Source: pve-storage PVE/API2/Storage/Status.pm, download_url; pve-common PVE/Tools.pm, download_file_from_url.
func (d *download) run() error {
	if d.compression != "" {
		switch {
		case d.content != "iso":
			return apiErrorf("decompression not supported for %s", d.content)
		case decompressors[d.compression] == "":
			return apiErrorf("no decompression method found")
		}
	}
	target := d.sim.pathOf(d.storage + ":" + d.name)
	d.logLine("downloading %s to %s", d.url, target)
	present, err := d.comparePresent(target)
	if present || err != nil {
		return err
	}
	file, err := d.connect(d.url)
	if err != nil {
		return apiErrorf("download failed: %s", err.Error())
	}
	temporary := fmt.Sprintf("%s.tmp_dwnl.%d", target, d.upid.pid)
	if err := d.transfer(file, temporary); err != nil {
		return err
	}
	if err := d.checkTransferred(file, temporary); err != nil {
		return err
	}
	return d.locked(func() error {
		d.keep(file)
		d.printf("download of '%s' to '%s' finished", d.url, target)
		return nil
	})
}

// comparePresent reports whether a file with the name and the wanted checksum is there. A file with the name is never overwritten.
func (d *download) comparePresent(target string) (present bool, err error) {
	err = d.locked(func() error {
		v := d.sim.volumeOn(d.upid.node, d.storage+":"+d.name)
		switch {
		case v == nil:
			return nil
		case d.checksum == "":
			return apiErrorf("refusing to override existing file '%s'", target)
		case v.checksums[d.algorithm] != d.checksum:
			d.printf("calculating checksum of existing file...")
			return apiErrorf("checksum mismatch: got '%s' != expect '%s', aborting", v.checksums[d.algorithm], d.checksum)
		}
		present = true
		d.printf("calculating checksum of existing file...OK, got correct file already, no need to download")
		return nil
	})
	return present, err
}

// connect returns the file of a URL. It follows redirects, as wget does, also to other hosts.
func (d *download) connect(address string) (WebFile, error) {
	const clock = "2006-01-02 15:04:05"
	d.sim.mu.Lock()
	defer d.sim.mu.Unlock()
	for redirects := 0; ; redirects++ {
		file, found := d.sim.web[address]
		if file.Failure != "" {
			return file, apiErrorf("%s", file.Failure)
		}
		d.printf("--%s--  %s", time.Now().Format(clock), address)
		host := hostOf(address)
		listens := slices.ContainsFunc(slices.Collect(maps.Keys(d.sim.web)), func(other string) bool { return hostOf(other) == host })
		if !listens {
			return file, apiErrorf("Connecting to %s... failed: Connection refused.", host)
		}
		if !found {
			file.Status = "404 File not found"
		}
		d.printf("Connecting to %s... connected.", host)
		name, _, _ := strings.Cut(host, ":")
		switch {
		case file.SelfSigned && !d.trusting:
			d.printf("ERROR: The certificate of '%s' is not trusted.", name)
			return file, apiErrorf("ERROR: The certificate of '%s' doesn't have a known issuer.", name)
		case file.SelfSigned:
			d.printf("WARNING: The certificate of '%s' is not trusted.", name)
			d.printf("WARNING: The certificate of '%s' doesn't have a known issuer.", name)
		}
		switch {
		case file.Status != "":
			d.printf("HTTP request sent, awaiting response... %s", file.Status)
			code, reason, _ := strings.Cut(file.Status, " ")
			d.printf("%s ERROR %s: %s.", time.Now().Format(clock), code, reason)
			return file, apiErrorf("exit code 8")
		case file.RedirectTo == "":
			d.printf("HTTP request sent, awaiting response... 200 OK")
			return file, nil
		case redirects >= 20:
			d.printf("20 redirections exceeded.")
			return file, apiErrorf("exit code 8")
		}
		d.printf("HTTP request sent, awaiting response... 302 Found")
		d.printf("Location: %s [following]", pathBelow(file.RedirectTo, host))
		address = file.RedirectTo
	}
}

// hostOf returns the host and the port of a URL.
func hostOf(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Port() == "" && u.Scheme == "https":
		return u.Host + ":443"
	case u.Port() == "":
		return u.Host + ":80"
	}
	return u.Host
}

// pathBelow returns the path of a URL on the same host, and the whole URL of another one.
func pathBelow(address, host string) string {
	if hostOf(address) != host {
		return address
	}
	_, rest, _ := strings.Cut(address, "://")
	return rest[strings.Index(rest, "/"):]
}

// lineOfWget is how many bytes each line about the progress stands for.
const lineOfWget = 32 * mib

// transfer fetches the file into a temporary one, which is removed again if this fails.
func (d *download) transfer(file WebFile, temporary string) error {
	kind := file.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	d.logLine("Length: %d (%s) [%s]", file.Size, shortSize(file.Size), kind)
	d.logLine("Saving to: '%s'", temporary)
	lines := int(max((file.Size+lineOfWget-1)/lineOfWget, 1))
	for line := range lines {
		if err := d.sleepShare(1 / float64(lines)); err != nil {
			return err
		}
		done := min(int64(line+1)*lineOfWget, file.Size)
		if line == lines/2 {
			if err := d.applyFault(0); err != nil {
				return err
			}
		}
		if file.Cut > 0 && done >= file.Cut {
			d.logLine("Read error at byte %d/%d (Connection reset by peer). Giving up.", file.Cut, file.Size)
			return apiErrorf("download failed: exit code 4")
		}
		if !d.fits(done) {
			return apiErrorf("download failed: Cannot write to '%s' (No space left on device).", temporary)
		}
		d.logLine("%6dK %-32s %3d%% 100M 0s", int64(line)*lineOfWget/kib, strings.Repeat(".", int((done-int64(line)*lineOfWget)/mib)), done*100/max(file.Size, 1))
	}
	d.logLine("%s (100 MB/s) - '%s' saved [%d/%d]", time.Now().Format("2006-01-02 15:04:05"), temporary, file.Size, file.Size)
	return nil
}

// fits reports whether a number of bytes fits into the storage.
func (d *download) fits(size int64) bool {
	d.sim.mu.Lock()
	defer d.sim.mu.Unlock()
	st := d.sim.storage(d.storage)
	return !st.full && (!st.Thick || st.allocatedBytes()+size <= st.Size)
}

// checkTransferred compares the checksum, then unpacks the file, then looks at the image in it.
func (d *download) checkTransferred(file WebFile, temporary string) error {
	if d.checksum != "" {
		if got := file.Checksums[d.algorithm]; got != d.checksum {
			d.logLine("calculating checksum...")
			return apiErrorf("checksum mismatch: got '%s' != expect '%s'", got, d.checksum)
		}
		d.logLine("calculating checksum...OK, checksum verified")
	}
	if d.compression != "" {
		d.logLine("decompressing %s to %s", temporary, strings.Replace(temporary, ".tmp_dwnl.", ".tmp_dcom.", 1))
		if file.Compression != d.compression {
			d.logLine("")
			d.logLine("gzip: %s: not in gzip format", temporary)
			return apiErrorf("command '%s %s' failed: exit code 1", decompressors[d.compression], temporary)
		}
	}
	if wanted := formatByName(d.name); d.content == "import" && wanted != "raw" && file.Format != wanted {
		d.logLine("command '/usr/bin/qemu-img info '--output=json' %s -f %s' failed: exit code 1", temporary, wanted)
		return apiErrorf("failed to verify file: qemu-img.real: Could not open '%s': Image is not in %s format", temporary, wanted)
	}
	return nil
}

// keep makes the temporary file the volume. Its checksums are those of the transferred file, so that an unpacked one has none. The state is locked.
func (d *download) keep(file WebFile) {
	v, err := d.sim.storage(d.storage).volumeFromName(d.name)
	if err != nil {
		return // the call has checked the name
	}
	v.Size, v.checksums = file.Size, file.Checksums
	if d.compression != "" {
		v.Size, v.checksums = file.Unpacked, nil
	}
	v.Stored = v.Size
	switch {
	case file.VirtualSize > 0:
		v.Size = file.VirtualSize
	case v.Kind == "iso":
		v.Size = (v.Size + 511) / 512 * 512 // qemu-img counts sectors
	}
	d.sim.keepOn(d.upid.node, v)
	d.sim.counts.countChange("/storage/"+v.ID, http.MethodPost)
}

// shortSize prints a number of bytes as wget does.
func shortSize(n int64) string {
	value := float64(n)
	for _, unit := range []string{"", "K", "M", "G"} {
		switch {
		case value < 10 && unit != "":
			return fmt.Sprintf("%.1f%s", value, unit)
		case value < 1024:
			return fmt.Sprintf("%.0f%s", value, unit)
		}
		value /= 1024
	}
	return fmt.Sprintf("%.0fT", value)
}
