//go:build integration

package browser

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of the documents")

// maxPicture is the most that a picture of the documents may have, in bytes.
const maxPicture = 120_000

// pictures are the pictures of the documents, by file.
var pictures = map[string]struct {
	path string
	view view
}{
	"overview.png":       {"/", view{width: 1280, height: 960}},
	"overview-dark.png":  {"/?problems=yes", view{width: 1280, height: 960, dark: true}},
	"guest.png":          {"/guests/1003", view{width: 1280, height: 960}},
	"guest-held.png":     {"/guests/1008", view{width: 1280, height: 640, dark: true}},
	"graph.png":          {"/graph", view{width: 1280, height: 690}},
	"phone.png":          {"/guests/1008", view{width: 400, height: 860}},
	"overview-phone.png": {"/", view{width: 400, height: 860}},
}

// The pictures of the documents are those of this fleet, small, and shown. With -update they are taken again. Their pixels are not compared, because they depend on
// the fonts of the machine.
func TestPictures(t *testing.T) {
	t.Parallel()
	const folder = "../../docs/images"
	s := serve(t, newFleet(48))
	var texts strings.Builder
	for _, name := range []string{"../../README.md", "../../docs/status.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts.Write(text)
	}
	for name, p := range pictures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(texts.String(), "images/"+name) {
				t.Errorf("no document shows %s", name)
			}
			file := filepath.Join(folder, name)
			if *update {
				take(t, s.address+p.path, p.view, file)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := png.DecodeConfig(bytes.NewReader(content))
			if err != nil || int64(got.Width) != p.view.width || int64(got.Height) != p.view.height || len(content) > maxPicture {
				t.Errorf("got %d×%d pixels in %d bytes, %v, want %d×%d in at most %d; -update takes the picture", got.Width, got.Height, len(content), err, p.view.width, p.view.height, maxPicture)
			}
		})
	}
}

// take writes a picture of a page.
func take(t *testing.T, address string, v view, file string) {
	t.Helper()
	b := openTab(t, v)
	b.visit(address)
	b.until("connection", `document.getElementById("live").innerText === "live"`)
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.ok(err)
	full, err := png.Decode(bytes.NewReader(picture))
	b.ok(err)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	b.ok(encoder.Encode(&out, reduced(full)))
	b.ok(os.WriteFile(file, out.Bytes(), 0o600))
}

// reduced returns an image with its 256 most frequent colours. The others, at the edges of letters, become the nearest ones.
func reduced(full image.Image) *image.Paletted {
	bounds := full.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for c := range count {
		index[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	return small
}
