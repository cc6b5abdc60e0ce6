package fetch

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrEnough ends Pages without an error.
var ErrEnough = errors.New("no further page is needed")

// Pages reads a list past the cache, page by page, and hands each to a function, with the token by which the page can be read again. A
// cache does not page. Each page is read into a list that fresh makes: one that has been used would mix it with what it has. The options
// say how long a page is.
func Pages[L client.ObjectList](
	ctx context.Context, from client.Reader, fresh func() L, each func(page L, token string) error, options ...client.ListOption,
) error {
	for token := ""; ; {
		page := fresh()
		if err := from.List(ctx, page, append(slices.Clip(options), client.Continue(token))...); err != nil {
			return err
		}
		if err := each(page, token); errors.Is(err, ErrEnough) {
			return nil
		} else if err != nil {
			return err
		}
		about, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		if token = about.GetContinue(); token == "" {
			return nil
		}
	}
}
