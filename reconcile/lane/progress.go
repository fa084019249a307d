package lane

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
)

// progressEvery is the time between two readings of the log of a download. A reading takes two calls.
const progressEvery = 10 * time.Second

// progresses are how far the downloads are that lanes wait for, in percent by UPID. It is for people: nothing is decided by it.
type progresses struct{ percents sync.Map }

// Progress returns how far the task of a download is, in percent; 0 if that is not known.
func (w *Worker) Progress(upid string) int {
	percent, known := w.progress.percents.Load(upid)
	if !known {
		return 0
	}
	return percent.(int) //nolint:forcetypeassert // follow stores nothing else
}

// follow reads the log of a download until the function that it returns is called.
func (p *progresses) follow(ctx context.Context, reader cluster.Reader, upid string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(progressEvery):
			}
			log, err := reader.TaskLog(ctx, upid)
			if percent := percentIn(log); err == nil && percent > 0 {
				p.percents.Store(upid, percent)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		p.percents.Delete(upid)
	}
}

// wgetLine matches a line in which wget reports progress: "  32768K ........ ........  12% 100M 3s".
//
// Source: PVE::Storage file_download_url, which runs wget with --progress=dot:giga.
var wgetLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *[0-9]+K[ .,]* ([0-9]{1,3})%`) })

// percentIn returns the last progress in the end of a log, 0 if there is none.
func percentIn(log string) int {
	percent := 0
	for line := range strings.Lines(log) {
		if match := wgetLine().FindStringSubmatch(line); match != nil {
			percent, _ = strconv.Atoi(match[1])
		}
	}
	return min(percent, 100)
}
