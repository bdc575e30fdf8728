// Command shop is a small service that a recipe is taken into: TestRecipeInAForeignService builds it
// as it is, and again with the recipe in place of http.ListenAndServe. It knows nothing of schedlab.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8000", "address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /price/{item}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		item := r.PathValue("item")
		if err := json.NewEncoder(w).Encode(map[string]any{"item": item, "price": 100 * len(item)}); err != nil {
			log.Print(err)
		}
	})
	if err := serve(ctx, *listen, mux); err != nil {
		log.Fatal(err)
	}
}
