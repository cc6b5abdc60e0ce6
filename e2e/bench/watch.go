package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// meta has the metadata fields that the benchmark reads.
type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	ResourceVersion string            `json:"resourceVersion"`
	Generation      int64             `json:"generation"`
	Annotations     map[string]string `json:"annotations"`

	DeletionTimestamp string   `json:"deletionTimestamp"`
	Finalizers        []string `json:"finalizers"`
}

// watched is a type for the objects of a watch. Such a type decodes only the necessary fields.
type watched interface{ version() string }

func (m *meta) version() string { return m.ResourceVersion }

// watch calls see for every change of the objects under path from now on, in their order, until ctx ends. It returns
// when the list version is known, and sends the error that ends the watch to failed.
func watch[T watched](ctx context.Context, b *bare, path string, failed chan<- error, see func(kind string, obj T)) error {
	var list struct {
		Metadata meta `json:"metadata"`
	}
	if err := b.get(ctx, path, &list); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	version := list.Metadata.ResourceVersion
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			version, err = watchFrom(ctx, b, path, version, see)
		}
		if ctx.Err() == nil {
			failed <- fmt.Errorf("watch %s: %w", path, err)
		}
	}()
	return nil
}

// watchFrom watches until the API server ends the stream, and returns the version for the next watch. API servers
// regularly end streams.
func watchFrom[T watched](ctx context.Context, b *bare, path, version string, see func(string, T)) (string, error) {
	stream, err := b.rest.Get().AbsPath(path).Param("watch", "true").Param("resourceVersion", version).Stream(ctx)
	if err != nil {
		return version, err
	}
	defer stream.Close()
	decoder := json.NewDecoder(stream)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return version, nil
		case err != nil:
			return version, err
		case event.Type == "ERROR":
			return version, fmt.Errorf("the API server ended it: %s", event.Object)
		}
		var obj T
		if err := json.Unmarshal(event.Object, &obj); err != nil {
			return version, err
		}
		version = obj.version()
		see(event.Type, obj)
	}
}
