import torch as t, copy
from torch import nn
from torch.nn.functional import cross_entropy as E
predicted_shift,predicted_running_var,predicted_first_change=3/2,3,0
D=copy.deepcopy
N=t.no_grad
L=lambda m:[k for k in m.modules() if isinstance(k,nn.Linear)]
def unit_statistics(h):h=h.detach().flatten(0,-2);return h.mean(0),h.std(0,correction=0)
def loss_gradients(model,x,classes):
    m=D(model).requires_grad_(True)
    return t.autograd.grad(E(m(x.detach()),classes),[*m.parameters()],allow_unused=True,materialize_grads=True)
def preactivation_statistics(model,x,r=None):
    m,r=D(model),[]
    for k in L(m):k.register_forward_hook(lambda _,i,o:r.append(unit_statistics(o)))
    with N():m(x+0)
    return r
def track_training(model,x,classes,batches,lr,probe):
    o=[(k,k.training)for k in model.modules()];model.train();S=[preactivation_statistics(model,probe)]
    for b in batches:
        g=loss_gradients(model,x[b],classes[b])
        with N():model(x[b]);[p.sub_(lr*q)for p,q in zip(model.parameters(),g)]
        S+=[preactivation_statistics(model,probe)]
    for k,v in o:k.training=v
    return[tuple(map(t.stack,zip(*l)))for l in zip(*S)]
def drift(history,lag=1):
    n=len(history[0][0])-lag
    if lag<1 or n<1:raise ValueError
    return tuple(t.stack([f(m[:n],m[lag:],s[:n],s[lag:]).abs().mean(1)for m,s in history],1)for f in(lambda a,b,c,d:(b-a)/c,lambda a,b,c,d:(d/c).log()))
def train_eval_gap(model,x,classes):
    with N():a,b=D(model).train()(x+0),D(model).eval()(x+0)
    return dict(batch=E(a,classes),running=E(b,classes),changed=(a.argmax(1)!=b.argmax(1)).double().mean())
def reestimate(model,batches):
    if not len(batches):raise ValueError
    c=D(model).train();P=[(k,j)for k,j in zip(model.modules(),c.modules())if isinstance(k,(nn.BatchNorm1d,nn.BatchNorm2d))]
    for _,j in P:j.reset_running_stats();j.momentum=None
    with N():[c(b+0)for b in batches]
    for k,j in P:k.load_state_dict({**k.state_dict(),**{n:b for n,b in j.state_dict().items()if'running'in n or'num'in n}})
def gradient_change(model,x,classes,layer,lr):
    m=D(model).train();w=L(m)[layer].weight;P=[*m.parameters()];i=[p is w for p in P].index(True);a=loss_gradients(m,x,classes)
    with N():[p.sub_(lr*g)for p,g in zip(P[:i],a)]
    a,b=a[i].flatten(),loss_gradients(m,x,classes)[i].flatten()
    return dict(norm=a.norm(),change=(a-b).norm(),cosine=a@b/a.norm()/b.norm())
def compare(makers,seeds,x,classes,batches,lr,probe):
    if len(seeds)<2 or len({(*(k.out_features for k in L(f(seeds[0]))),)for f in makers.values()})>1:raise ValueError
    R={n:t.stack([drift(track_training(f(s),x,classes,batches,lr,probe))[0].mean(0)for s in seeds])for n,f in makers.items()}
    return{n:(v.mean(0),v.std(0))for n,v in R.items()}
