package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked is the error if another process holds a lock.
var errLocked = errors.New("locked by another process")

// tryLock takes a lock. The kernel releases the lock at any end of this process.
func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// lockFile waits for a lock. It calls waiting once if the lock is not free at first.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	unlock, err = tryLock(path)
	if !errors.Is(err, errLocked) {
		return unlock, err
	}
	waiting()
	err = poll(ctx, 200*time.Millisecond, func(context.Context) error {
		unlock, err = tryLock(path)
		return err
	})
	return unlock, err
}
