package model_test

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// Limits for the cost of a crowd that does nothing.
const (
	mostCores = 0.1      // of the processor, for all of it
	mostHeap  = 16 << 10 // bytes a connection, besides what its stack must read a head into
)

// headBuffer is what a connection's head is read into: fasthttp's buffer is as long
// as the longest head that it accepts, for every client.
func headBuffer(mode model.Mode) int64 {
	if mode.Axes.Stack == "fasthttp" {
		return int64(model.DefaultLimits().MaxHead)
	}
	return 0
}

// A crowd that does nothing costs no CPU time, and little heap for each connection.
func TestHostileCrowdsCost(t *testing.T) {
	atOnce := make(chan struct{}, sized(16, 4)) // or this process would run out of descriptors itself
	eachMode(t, func(t *testing.T, mode model.Mode) {
		for _, d := range slowClients() {
			t.Run(d.name, func(t *testing.T) {
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				most := sized(500, 2000)
				a := startProcess(t, mode.Name, 0)
				if a.ask() != nil { // it has what the first request needs
					t.Fatal("no first answer")
				}
				before := a.usage(t)
				a.gather(t, most, d)
				eventually(t, "a crowd", func() bool { return a.usage(t).Open >= uint64(most) })
				busy := a.cores(t, time.Second)
				heap := (a.usage(t).Heap - before.Heap) / int64(most)
				t.Logf("%d clients: %d bytes of heap for each, %.3f of a core", most, heap, busy)
				if most := mostHeap + headBuffer(mode); heap >= most {
					t.Errorf("a connection holds %d bytes of heap, want less than %d", heap, most)
				}
				if busy >= mostCores {
					t.Errorf("the crowd costs %.3f of a core, want less than %v", busy, mostCores)
				}
			})
		}
	})
}

// ask makes a request on a connection of its own.
func (a *serverProcess) ask() error {
	c, err := connect(a.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.ask(getClose("/plaintext"))
	if err == nil && answer.Status != 200 {
		err = fmt.Errorf("got %d, want 200", answer.Status)
	}
	return err
}

// gather connects a crowd that stays until the test ends. Its clients connect concurrently
// where they have to wait for a worker.
func (a *serverProcess) gather(t *testing.T, n int, d slowClient) {
	var begun sync.WaitGroup
	defer begun.Wait()
	for range n {
		c, err := connect(a.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.reset)
		begun.Go(func() {
			if d.idle {
				io.WriteString(c, get("/plaintext"))
			} else if err := d.begin(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// mostBodyHeap limits the heap of a connection whose client has announced a long body and sent hardly
// any of it: memory is for bytes that have come, and not for those that a client may never send.
const mostBodyHeap = 64 << 10

func TestHostileBodiesCost(t *testing.T) {
	atOnce := make(chan struct{}, 4)
	eachMode(t, func(t *testing.T, mode model.Mode) {
		atOnce <- struct{}{}
		defer func() { <-atOnce }()
		a := startProcess(t, mode.Name, 0)
		if err := a.ask(); err != nil { // it has what the first request needs
			t.Fatal(err)
		}
		before := a.usage(t)
		each := sized(50, 500)
		kinds := []string{"Content-Length: 65536\r\n\r\nhe", "Content-Length: 1048576\r\n\r\nhe", "Transfer-Encoding: chunked\r\n\r\nffff\r\nhe", "Transfer-Encoding: chunked\r\n\r\n100000\r\nhe"}
		for _, body := range kinds {
			a.gather(t, each, slowClient{begin: func(c *client) error {
				_, err := io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: test\r\n"+body)
				return err
			}})
		}
		eventually(t, "a crowd", func() bool { return a.usage(t).Open >= uint64(len(kinds)*each) })
		time.Sleep(200 * time.Millisecond) // until the heads are read
		heap := (a.usage(t).Heap - before.Heap) / int64(len(kinds)*each)
		t.Logf("%d clients: %d bytes of heap for each", len(kinds)*each, heap)
		if heap >= mostBodyHeap {
			t.Errorf("a connection holds %d bytes of heap, want less than %d", heap, mostBodyHeap)
		}
	})
}
