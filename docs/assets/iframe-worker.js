// A page that is opened from a disk may not start workers. The search then runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const { contentDocument: page, contentWindow: room } = this.frame;
      room.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.room = new Promise((ready) => {
        const script = page.createElement("script");
        script.onload = () => ready(room);
        script.src = address;
        page.body.append(script);
      });
    }

    postMessage(data) {
      this.room.then((room) => room.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
