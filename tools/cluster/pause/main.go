// Pause is what holds a Pod's namespaces open: it waits to be told to stop.
// The sandbox cannot fetch the real one.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}
